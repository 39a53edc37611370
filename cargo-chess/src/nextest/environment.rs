//! What cargo needs in its environment is not for the tests: the runner puts back what the user had.

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::cli::RunnerArgs;
use crate::error::{Error, Result};

/// Carries what variables were before: nothing, or a text.
const VARIABLE: &str = "CHESS_NEXTEST_BEFORE";

/// Sets `variables` for `command`, and lets the runner put back what there is now.
pub(super) fn set(command: &mut Command, variables: &[(String, String)]) -> Result<()> {
    let mut all = BTreeMap::new();
    for (name, value) in variables {
        all.insert(name.as_str(), before(name, env::var(name))?);
        command.env(name, value);
    }
    let text = serde_json::to_string(&all).expect("it is plain data");
    command.env(VARIABLE, text);
    Ok(())
}

/// The value of a variable that is to be put back, if it has one.
fn before(name: &str, value: Result<String, VarError>) -> Result<Option<String>> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(value)) => Err(Error::Usage(format!(
            "environment variable {name}: expected text in UTF-8, which can be put back for the tests, \
             found `{}`",
            value.to_string_lossy()
        ))),
    }
}

/// Starts this program anew, in the environment that the user had, if it is a runner
/// that is not yet in there. Comes back with an error if that fails.
pub(crate) fn put_back(args: &[OsString]) -> Option<io::Error> {
    if args.get(1)? != RunnerArgs::NAME {
        return None;
    }
    let text = env::var(VARIABLE).ok()?;
    let before: BTreeMap<String, Option<String>> = match serde_json::from_str(&text) {
        Ok(before) => before,
        Err(error) => {
            let words = format!("environment variable {VARIABLE}: {error}; unset it");
            return Some(io::Error::other(words));
        }
    };
    let this_program = match env::current_exe() {
        Ok(path) => path,
        Err(error) => return Some(error),
    };
    let mut command = Command::new(this_program);
    command.args(&args[1..]).env_remove(VARIABLE);
    for (name, value) in before {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Some(command.exec())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn a_variable_that_cannot_be_put_back_is_named() {
        let name = "RUSTC_WRAPPER";
        let set = before(name, Ok("sccache".to_owned()));
        assert_eq!(set.expect("text"), Some("sccache".to_owned()));
        let unset = before(name, Err(VarError::NotPresent));
        assert_eq!(unset.expect("nothing"), None);
        let value = OsString::from_vec(b"/opt/\xff".to_vec());
        let error = before(name, Err(VarError::NotUnicode(value)));
        insta::assert_snapshot!(error.expect_err("no text"), @"environment variable RUSTC_WRAPPER: expected text in UTF-8, which can be put back for the tests, found `/opt/�`");
    }
}
