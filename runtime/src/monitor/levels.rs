//! The levels of findings in a run (ignored, warning or failure), by package.

use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Site, covers};

/// The consequence of a finding, such as a race.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// The finding is not reported.
    Allow,
    /// The test has a warning.
    Warn,
    /// The test fails.
    Deny,
}

impl Level {
    /// The level with this name in requests.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "allow" => Self::Allow,
            "warn" => Self::Warn,
            "deny" => Self::Deny,
            _ => return None,
        })
    }
}

/// The levels of findings, by the file in which a finding is.
pub(super) struct Levels {
    of_others: Level,
    /// Prefixes of file names, and their levels. The rule with the longest prefix of a file
    /// applies.
    rules: EngineVec<(EngineVec<u8>, Level)>,
}

impl Levels {
    /// Every file has the level `of_others`, until [`Self::set`] is called.
    pub(super) const fn new(of_others: Level) -> Self {
        Self {
            of_others,
            rules: engine_vec(),
        }
    }

    /// Sets the levels of files by `rules`: prefixes of file names, and their levels. Files to
    /// which no rule applies get the level `of_others`.
    pub(super) fn set(&mut self, of_others: Level, rules: &[(String, Level)]) {
        self.of_others = of_others;
        for (prefix, level) in rules {
            let mut bytes = engine_vec();
            bytes.extend_from_slice(prefix.as_bytes());
            self.rules.push((bytes, *level));
        }
    }

    /// The level of findings at `site`.
    pub(super) fn of(&self, site: Site) -> Level {
        let file = site.file().as_bytes();
        let rules = self.rules.iter().filter(|(prefix, _)| covers(prefix, file));
        let longest = rules.max_by_key(|(prefix, _)| prefix.len());
        longest.map_or(self.of_others, |&(_, level)| level)
    }
}
