//! Why a test binary is not under control, and what can be done about it.

use serde::{Deserialize, Serialize};

/// What keeps a test binary from being explored.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WhyNot {
    /// It has a `main` of its own in libtest's place.
    OwnHarness,
    /// It is built without `--target`, as the compiler's plugins are.
    ForTheCompiler,
    /// The package's policy is `opaque`.
    Opaque,
}

impl WhyNot {
    /// What is said of the binary: "it ...".
    pub fn reason(self) -> &'static str {
        match self {
            Self::OwnHarness => "has a test harness of its own",
            Self::ForTheCompiler => "is built for the compiler's own use, as procedural macros are",
            Self::Opaque => "is compiled unchanged, because the policy of its package is `opaque`",
        }
    }

    /// What the user can do.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::OwnHarness => {
                "what is to be explored must be a `#[test]` of a target without `harness = false`"
            }
            Self::ForTheCompiler => "move the tests to a package that is not a procedural macro",
            Self::Opaque => {
                "give the package the policy \"preempt\" in Chess.toml ([policy] workspace, or its \
                 own table below [crates])"
            }
        }
    }
}
