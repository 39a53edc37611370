//! The result of one measurement of one tool, and medians of several.

use std::time::Duration;

/// The profile with which the workloads, loom and shuttle are compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Release,
    Dev,
}

impl Profile {
    /// Returns cargo's name for the profile.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "dev",
        }
    }

    /// Returns the name of cargo's output directory for the profile.
    pub(crate) fn directory(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

/// The executions that a tool ran, and their time.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) executions: f64,
    /// The number of scheduling points, as counted by the tool itself.
    pub(crate) points: f64,
    /// The processor time, of all processes of the tool together.
    pub(crate) time: Duration,
}

impl Sample {
    /// Executions per second of processor time.
    pub(crate) fn rate(&self) -> f64 {
        self.executions / self.time.as_secs_f64()
    }

    /// Nanoseconds per scheduling point.
    pub(crate) fn nanos_per_point(&self) -> f64 {
        self.time.as_secs_f64() * 1e9 / self.points
    }

    /// Scheduling points per execution.
    pub(crate) fn points_per_execution(&self) -> f64 {
        self.points / self.executions
    }

    /// Returns the executions, the scheduling points and the time of `self` without those of
    /// `shorter`. Both samples include the start of processes, and their difference does not.
    pub(crate) fn beyond(&self, shorter: &Self) -> Self {
        Self {
            executions: self.executions - shorter.executions,
            points: self.points - shorter.points,
            time: self
                .time
                .saturating_sub(shorter.time)
                .max(Duration::from_millis(10)),
        }
    }
}

/// The median of a list of values, with the smallest and the largest.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    /// Returns `None` if there are no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&least, &greatest) = (values.first()?, values.last()?);
        let upper = values[values.len() / 2];
        let lower = values[(values.len() - 1) / 2];
        Some(Self {
            median: f64::midpoint(lower, upper),
            least,
            greatest,
        })
    }
}
