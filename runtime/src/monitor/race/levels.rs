//! What accesses and races mean to a run; races by package.

use super::found::Found;
use crate::execution::{Site, covers};
use crate::platform::memory::{EngineVec, engine_vec};

/// What a race means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Nothing is said of it.
    Allow,
    /// The test has a warning.
    Warn,
    /// The test fails.
    Deny,
}

impl Level {
    /// By its name in requests.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "allow" => Self::Allow,
            "warn" => Self::Warn,
            "deny" => Self::Deny,
            _ => return None,
        })
    }
}

/// What accesses to plain memory are to the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accesses {
    /// Nothing, not even looked at.
    Ignored,
    /// Looked at; scheduling points where they race.
    Watched,
    /// Scheduling points.
    Preempted,
}

impl Accesses {
    /// By its name in requests.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ignore" => Self::Ignored,
            "watch" => Self::Watched,
            "preempt" => Self::Preempted,
            _ => return None,
        })
    }
}

/// The levels of a run.
pub(super) struct Levels {
    of_others: Level,
    /// The longest prefix of a file counts.
    rules: EngineVec<(EngineVec<u8>, Level)>,
}

impl Levels {
    pub(super) const fn new() -> Self {
        Self {
            of_others: Level::Deny,
            rules: engine_vec(),
        }
    }

    /// What files have that no rule is for.
    pub(super) fn set_others(&mut self, level: Level) {
        self.of_others = level;
    }

    /// Adds a rule for the files below `prefix`.
    pub(super) fn add(&mut self, prefix: &str, level: Level) {
        let mut bytes = engine_vec();
        bytes.extend_from_slice(prefix.as_bytes());
        self.rules.push((bytes, level));
    }

    /// That of a race: where one of its packages is forgiven, so is the race.
    pub(super) fn of(&self, found: &Found) -> Level {
        let [first, second] = found.sites().map(|site| self.of_site(site));
        first.min(second)
    }

    fn of_site(&self, site: Option<Site>) -> Level {
        let Some(site) = site else {
            return Level::Deny;
        };
        let file = site.file().as_bytes();
        let rules = self.rules.iter().filter(|(prefix, _)| covers(prefix, file));
        let longest = rules.max_by_key(|(prefix, _)| prefix.len());
        longest.map_or(self.of_others, |&(_, level)| level)
    }
}
