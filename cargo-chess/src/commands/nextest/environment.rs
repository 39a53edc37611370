//! Restores the user's environment for the tests, without the variables that only cargo needs.

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::cli::RunnerArgs;
use crate::error::{Error, Result};

/// The variable with the earlier values of other variables. A value is `null` if the variable was
/// unset.
const VARIABLE: &str = "CHESS_NEXTEST_BEFORE";

/// Sets `variables` for `command`, and saves their current values, so that the runner can restore
/// them.
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

/// The current value of the variable `name`, which must be restored later; `None` if the variable
/// is unset. Fails if the value is not UTF-8.
fn before(name: &str, value: Result<String, VarError>) -> Result<Option<String>> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(value)) => Err(Error::Usage(format!(
            "environment variable {name}: expected text in UTF-8, because cargo chess must restore it \
             for the tests, found `{}`",
            value.to_string_lossy()
        ))),
    }
}

/// If this process is a runner and the user's environment is not restored yet, restarts this
/// program in the user's environment. Returns `None` if there is nothing to do, and an error if
/// the restart fails.
pub(crate) fn put_back(args: &[OsString]) -> Option<io::Error> {
    if args.get(1)? != RunnerArgs::NAME {
        return None;
    }
    let text = env::var(VARIABLE).ok()?;
    let before: BTreeMap<String, Option<String>> = match serde_json::from_str(&text) {
        Ok(before) => before,
        Err(error) => {
            let words = format!(
                "the environment variable {VARIABLE}, which cargo chess sets, is not valid: {error}; unset it"
            );
            return Some(io::Error::other(words));
        }
    };
    let current_exe = match env::current_exe() {
        Ok(path) => path,
        Err(error) => return Some(error),
    };
    let mut command = Command::new(current_exe);
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
        insta::assert_snapshot!(error.expect_err("no text"), @"environment variable RUSTC_WRAPPER: expected text in UTF-8, because cargo chess must restore it for the tests, found `/opt/�`");
    }
}
