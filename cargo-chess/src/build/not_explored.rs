//! The reasons why a test binary is not under control, and their remedies.

use serde::{Deserialize, Serialize};

/// The reason why a test binary cannot be explored.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum NotExplored {
    /// The binary has its own `main` in place of libtest's.
    OwnHarness,
    /// The binary is built without `--target`, for the compiler's own use.
    ForTheCompiler,
    /// The package's policy is `opaque`.
    Opaque,
}

impl NotExplored {
    /// The reason, as the predicate of a sentence about the binary.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::OwnHarness => "has a test harness of its own",
            Self::ForTheCompiler => {
                "contains the tests of a procedural macro, which cargo builds to run inside the compiler"
            }
            Self::Opaque => "is compiled unchanged, because the policy of its package is `opaque`",
        }
    }

    /// The remedy for the user.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::OwnHarness => {
                "only `#[test]` functions of targets without `harness = false` can be explored: move \
                 the test code to such a function"
            }
            Self::ForTheCompiler => "move the tests to a package that is not a procedural macro",
            Self::Opaque => {
                "give the package the policy \"preempt\" in Chess.toml ([policy] workspace, or its \
                 own table below [crates])"
            }
        }
    }
}
