//! The explanations of failures in fixtures/corpus/explained.toml. Each one names a defect of the
//! crate, a defect of its test, or a limit of the tool.

use std::fs;

use end_to_end::source_of;
use serde::Deserialize;

use crate::row::{Failure, Row};

/// The whole file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explanations {
    #[serde(default)]
    pub(crate) failure: Vec<Explanation>,
}

/// An explanation of the failures that one defect or one limit causes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explanation {
    /// The crate.
    pub(crate) suite: String,
    /// The tests, each as its binary and its path. A name that ends with `*` stands for all tests
    /// with that prefix.
    pub(crate) tests: Vec<String>,
    /// The kind of failure.
    pub(crate) kind: String,
    /// Whether the cause is a defect of the crate, a defect of its test, or a limit of the tool.
    pub(crate) of: Of,
    /// The reason, with file and line.
    pub(crate) why: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Of {
    /// A defect of the crate.
    Crate,
    /// A defect of the test: it relies on an order that is not guaranteed.
    Test,
    /// A defect or a limit of the tool.
    Tool,
}

impl Of {
    /// Whether the failure shows a defect of the crate or of its test.
    pub(crate) fn is_defect(self) -> bool {
        self != Self::Tool
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Crate => "defect of the crate",
            Self::Test => "defect of the test",
            Self::Tool => "limit of the tool",
        }
    }
}

impl Explanations {
    pub(crate) fn read() -> Self {
        let path = source_of("corpus").join("explained.toml");
        let text = fs::read_to_string(&path).expect("fixtures/corpus explains failures");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns the explanation of `failure` in the suite `row`.
    pub(crate) fn find(&self, row: &Row, failure: &Failure) -> Option<&Explanation> {
        let means = |name: &String| match name.strip_suffix('*') {
            Some(start) => failure.test.starts_with(start),
            None => failure.test == *name,
        };
        self.failure.iter().find(|explanation| {
            explanation.suite == row.name
                && explanation.kind == failure.kind
                && explanation.tests.iter().any(means)
        })
    }
}
