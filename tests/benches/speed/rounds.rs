//! The rounds of measurement: every tool on every workload in alternation, so that load on the
//! machine affects all tools equally.

use crate::baselines::Baselines;
use crate::explored::{Explored, Search};
use crate::sample::Sample;

/// The workloads of `fixtures/benchmarks`, in the order of the table.
pub(crate) const WORKLOADS: [&str; 6] = [
    "mutex",
    "fetch_add",
    "buffer",
    "store_buffer",
    "rwlock",
    "spin",
];

/// The tool of a row of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    ChessBounded,
    ChessRandom,
    Loom,
    ShuttleRandom,
    ShuttleDepthFirst,
}

impl Tool {
    pub(crate) const ALL: [Self; 5] = [
        Self::ChessBounded,
        Self::ChessRandom,
        Self::Loom,
        Self::ShuttleRandom,
        Self::ShuttleDepthFirst,
    ];

    fn sample(
        self,
        chess: &Explored<'_>,
        baselines: &Baselines,
        workload: &str,
    ) -> Result<Sample, String> {
        match self {
            Self::ChessBounded => Ok(chess.sample(workload, Search::Bounded)),
            Self::ChessRandom => Ok(chess.sample(workload, Search::Random)),
            Self::Loom => baselines.sample("loom-2", workload),
            Self::ShuttleRandom => baselines.sample("shuttle-random", workload),
            Self::ShuttleDepthFirst => baselines.sample("shuttle-dfs", workload),
        }
    }
}

/// The samples of one tool on one workload, one for each round, or the reason why the tool has
/// none.
pub(crate) type Samples = Result<Vec<Sample>, String>;

/// One workload: the samples of each tool, in the order of [`Tool::ALL`].
pub(crate) struct Measured {
    pub(crate) workload: &'static str,
    samples: [Samples; Tool::ALL.len()],
}

impl Measured {
    pub(crate) fn samples(&self, tool: Tool) -> &Samples {
        &self.samples[tool as usize]
    }

    /// Returns the ratio of the rate of `tool` to the rate of `baseline` in each round. Returns no
    /// ratios if one of the two tools has no samples.
    pub(crate) fn ratios(&self, tool: Tool, baseline: Tool) -> Vec<f64> {
        match (self.samples(tool), self.samples(baseline)) {
            (Ok(ours), Ok(theirs)) => {
                let pairs = ours.iter().zip(theirs);
                pairs
                    .map(|(ours, theirs)| ours.rate() / theirs.rate())
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Measures all tools on all workloads `rounds` times.
pub(crate) fn measure(chess: &Explored<'_>, baselines: &Baselines, rounds: usize) -> Vec<Measured> {
    let mut all = WORKLOADS.map(|workload| Measured {
        workload,
        samples: Tool::ALL.map(|_| Ok(Vec::new())),
    });
    for _ in 0..rounds {
        for measured in &mut all {
            for tool in Tool::ALL {
                let samples = &mut measured.samples[tool as usize];
                let Ok(taken) = samples else { continue };
                match tool.sample(chess, baselines, measured.workload) {
                    Ok(sample) => taken.push(sample),
                    Err(error) => *samples = Err(error),
                }
            }
        }
    }
    all.into()
}
