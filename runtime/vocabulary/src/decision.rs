//! The decisions of a schedule, and the tokens that stand for them in files and requests.

use core::fmt::{self, Display, Formatter};

use crate::TaskId;

/// A decision of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// This task runs.
    Task(TaskId),
    /// The operation of the running task has the outcome with this number.
    Outcome(u32),
}

/// A decision that is made a number of times in a row. Its token is `2`, `2*17` or `?1`, for
/// example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decisions {
    /// The decision.
    pub decision: Decision,
    /// The number of times, at least 1.
    pub times: u64,
}

impl Decisions {
    /// Parses a token. Returns `None` if it is malformed.
    pub fn of_token(token: &str) -> Option<Self> {
        let (is_outcome, rest) = match token.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, token),
        };
        let (number, times) = rest.split_once('*').unwrap_or((rest, "1"));
        let number = number.parse().ok()?;
        let decision = if is_outcome {
            Decision::Outcome(number)
        } else {
            Decision::Task(TaskId(number))
        };
        let times = times.parse().ok().filter(|times| *times > 0)?;
        Some(Self { decision, times })
    }
}

/// Writes the token that [`Decisions::of_token`] parses.
impl Display for Decisions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.decision {
            Decision::Task(task) => write!(f, "{}", task.0)?,
            Decision::Outcome(outcome) => write!(f, "?{outcome}")?,
        }
        match self.times {
            1 => Ok(()),
            times => write!(f, "*{times}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_being_read() {
        for token in ["0", "2*17", "?1"] {
            let read = Decisions::of_token(token).expect("a token");
            assert_eq!(read.to_string(), token);
        }
        for token in ["", "?", "x", "1*x", "1*0", "-1", "1*"] {
            assert_eq!(Decisions::of_token(token), None, "{token}");
        }
    }
}
