//! What a finding means to a run: nothing, a warning or a failure; by package.

use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Site, covers};

/// What a finding means, such as a race.
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

/// The levels of a run.
pub(super) struct Levels {
    of_others: Level,
    /// The longest prefix of a file counts.
    rules: EngineVec<(EngineVec<u8>, Level)>,
}

impl Levels {
    /// Every file has this level, until it is said otherwise.
    pub(super) const fn new(of_others: Level) -> Self {
        Self {
            of_others,
            rules: engine_vec(),
        }
    }

    /// Files have this level, but for those below some prefixes.
    pub(super) fn set(&mut self, of_others: Level, rules: &[(String, Level)]) {
        self.of_others = of_others;
        for (prefix, level) in rules {
            let mut bytes = engine_vec();
            bytes.extend_from_slice(prefix.as_bytes());
            self.rules.push((bytes, *level));
        }
    }

    /// That of what happens at `site`.
    pub(super) fn of(&self, site: Site) -> Level {
        let file = site.file().as_bytes();
        let rules = self.rules.iter().filter(|(prefix, _)| covers(prefix, file));
        let longest = rules.max_by_key(|(prefix, _)| prefix.len());
        longest.map_or(self.of_others, |&(_, level)| level)
    }
}
