//! The explanations of failures in fixtures/corpus/explained.toml: a true defect, or a known limit.

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

/// The failures of one defect, or of one limit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explanation {
    /// The crate.
    pub(crate) suite: String,
    /// The tests, each as its binary and its path; one that ends with `*` stands for all with that beginning.
    pub(crate) tests: Vec<String>,
    /// The kind of failure.
    pub(crate) kind: String,
    /// Whether it is a defect of the crate, of its test, or a limit of the tool.
    pub(crate) of: Of,
    /// Why, with file and line.
    pub(crate) why: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Of {
    /// The crate is wrong.
    Crate,
    /// The test is wrong: it relies on an order that nothing promises.
    Test,
    /// The tool is wrong, or does not know something.
    Tool,
}

impl Of {
    /// Whether the failure is a true one.
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

    /// The explanation of `failure` in the suite `row`.
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
