//! What cargo needs in its environment is not for the tests: the runner puts back what the user had.

use std::collections::BTreeMap;
use std::env;
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
    let before = |name: &str| match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(Error::Usage(format!(
            "the environment variable {name} is not UTF-8"
        ))),
    };
    let mut all = BTreeMap::new();
    for (name, value) in variables {
        all.insert(name.as_str(), before(name)?);
        command.env(name, value);
    }
    let text = serde_json::to_string(&all).expect("it is plain data");
    command.env(VARIABLE, text);
    Ok(())
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
        Err(error) => return Some(error.into()),
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
