//! The default commit for the comparison: the commit that the CI service names, or the default
//! branch. `git.rs` compares with it, and `affected.rs` finds the members that the changes affect.

use std::env;
use std::fs;

use serde_json::Value;

use super::git::{Base, Git};
use crate::error::{Error, Result};

/// The usual names of target branches, in the order in which they are tried.
const BRANCHES: [&str; 5] = [
    "origin/HEAD",
    "origin/main",
    "origin/master",
    "main",
    "master",
];

/// Returns the base with the name `wanted`. If `wanted` is `None`, returns the base of the current
/// merge request or merge queue. If there is neither, returns the default branch.
pub(super) fn find(git: &Git, wanted: Option<&str>) -> Result<Base> {
    if let Some(name) = wanted {
        return git.base(name);
    }
    let event = env::var("GITHUB_EVENT_PATH").ok();
    let event = event.and_then(|path| fs::read_to_string(path).ok());
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(name) = of_service(&variable, event.as_deref()) {
        return git.base(&name);
    }
    for name in BRANCHES {
        if git.knows(name)? {
            return git.base(name);
        }
    }
    Err(Error::Usage(
        "there is no default branch to compare with (tried origin/HEAD, and main and master with and without origin/): name a commit \
         with --base"
            .to_owned(),
    ))
}

/// The base that the CI service names. GitHub names it in variables and in the event of the
/// workflow, and GitLab in variables.
fn of_service(variable: &dyn Fn(&str) -> Option<String>, event: Option<&str>) -> Option<String> {
    // The base commit of a pull request is available even if the base branch was not fetched.
    let event: Option<Value> = event.and_then(|text| serde_json::from_str(text).ok());
    let in_event = |path: &str| {
        let value = event.as_ref()?.pointer(path)?.as_str()?;
        // In the event of a branch's first push, the commit is all zeros.
        let is_commit = !value.bytes().all(|byte| byte == b'0');
        is_commit.then(|| value.to_owned())
    };
    in_event("/pull_request/base/sha")
        .or_else(|| in_event("/merge_group/base_sha"))
        .or_else(|| in_event("/before"))
        .or_else(|| variable("CI_MERGE_REQUEST_DIFF_BASE_SHA"))
        .or_else(|| Some(format!("origin/{}", variable("GITHUB_BASE_REF")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_name_the_base_of_a_change() {
        let none = |_: &str| None;
        let of_event = |event: &str| of_service(&none, Some(event));
        assert_eq!(of_service(&none, None), None);
        let found = of_event(r#"{"pull_request":{"base":{"sha":"1a","ref":"main"}}}"#);
        assert_eq!(found.as_deref(), Some("1a"));
        let found = of_event(r#"{"merge_group":{"base_sha":"2b"}}"#);
        assert_eq!(found.as_deref(), Some("2b"));
        let found = of_event(r#"{"before":"3c","after":"4d"}"#);
        assert_eq!(found.as_deref(), Some("3c"));
        assert_eq!(of_event(r#"{"before":"0000000000"}"#), None);
        assert_eq!(of_event("no JSON"), None);
        let gitlab = |name: &str| (name == "CI_MERGE_REQUEST_DIFF_BASE_SHA").then(|| "5e".into());
        assert_eq!(of_service(&gitlab, None).as_deref(), Some("5e"));
        let github = |name: &str| (name == "GITHUB_BASE_REF").then(|| "main".into());
        assert_eq!(of_service(&github, None).as_deref(), Some("origin/main"));
    }
}
