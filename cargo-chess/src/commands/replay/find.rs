//! Finds the schedule that the user names by a file, an id, or an inline string.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{Error, Result};
use crate::schedule::Schedule;
use crate::schedule::directory::{EXTENSION, failures_dir, id_in, schedules_in};
use crate::suggest;

/// Reads the schedule of `argument` if it is an inline string or a file: this needs no workspace.
/// Returns `None` if `argument` can only be the name of a saved failure.
pub(super) fn by_itself(argument: &str) -> Result<Option<Schedule>> {
    if Schedule::is_inline(argument) {
        let schedule = Schedule::parse_inline(argument);
        return schedule
            .map(Some)
            .map_err(|error| Error::Usage(error.to_string()));
    }
    let path = Utf8Path::new(argument);
    if path.is_file() || path.extension() == Some(EXTENSION) {
        return read(path).map(Some);
    }
    Ok(None)
}

/// Reads the saved failure with the name `argument`, in the workspace's directory of failures or
/// in the directories `kept` of regressions. A name is the id of a failure, or the name of its
/// file without the ending.
pub(super) fn among_saved(
    argument: &str,
    chess_dir: &Utf8Path,
    kept: &[Utf8PathBuf],
) -> Result<Schedule> {
    let mut saved = schedules_in(&failures_dir(chess_dir))?;
    for directory in kept {
        saved.extend(schedules_in(directory)?);
    }
    let named: Vec<&Utf8PathBuf> = saved
        .iter()
        .filter(|path| {
            let stem = path.file_stem().unwrap_or_default();
            stem == argument || id_in(path) == argument
        })
        .collect();
    match named.as_slice() {
        [path] => read(path),
        // The failure is also saved as a regression.
        [first, second] if is_same(first, second) => read(first),
        [] => Err(Error::Usage(unknown(argument, &saved, chess_dir))),
        several => Err(Error::Usage(format!(
            "the id `{argument}` stands for {} saved failures; give one of their names:\n{}",
            several.len(),
            stems(several.iter().copied())
        ))),
    }
}

/// Reads the newest saved failure of the workspace.
pub(super) fn newest(chess_dir: &Utf8Path) -> Result<Schedule> {
    let saved = schedules_in(&failures_dir(chess_dir))?;
    let time = |path: &Utf8PathBuf| path.metadata().and_then(|it| it.modified()).ok();
    match saved.iter().max_by_key(|path| time(path)) {
        Some(path) => read(path),
        None => Err(Error::Usage(format!(
            "no failure is saved in {}.\n\
             Run `cargo chess test` to find one, or give a `*.chess` file or an inline `chess1:...` string.",
            failures_dir(chess_dir)
        ))),
    }
}

fn read(path: &Utf8Path) -> Result<Schedule> {
    let bytes = fs::read(path).map_err(|error| {
        Error::Usage(format!(
            "could not read the schedule {path}: {error}.\n\
             Give a `*.chess` file, the id of a saved failure, or an inline `chess1:...` string."
        ))
    })?;
    Schedule::parse(&String::from_utf8_lossy(&bytes))
        .map_err(|error| Error::Usage(format!("{path}: {error}")))
}

/// Whether two files contain the same schedule.
fn is_same(first: &Utf8Path, second: &Utf8Path) -> bool {
    let word = |path| read(path).map(|schedule| schedule.to_inline());
    matches!((word(first), word(second)), (Ok(first), Ok(second)) if first == second)
}

fn unknown(argument: &str, saved: &[Utf8PathBuf], chess_dir: &Utf8Path) -> String {
    let directory = failures_dir(chess_dir);
    if saved.is_empty() {
        return format!(
            "there is no file `{argument}`, and no failure is saved in {directory}.\n\
             Run `cargo chess test` to find one, or give a `*.chess` file or an inline `chess1:...` string."
        );
    }
    let nearest = suggest::nearest(argument, saved.iter().filter_map(|path| path.file_stem()))
        .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    format!(
        "there is no file and no saved failure `{argument}`{nearest}; the failures saved in {directory} are:\n{}",
        stems(saved)
    )
}

fn stems<'a>(paths: impl IntoIterator<Item = &'a Utf8PathBuf>) -> String {
    let stems: Vec<String> = paths
        .into_iter()
        .filter_map(|path| path.file_stem())
        .map(|stem| format!("    {stem}"))
        .collect();
    stems.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::tests::sample;

    struct Saved {
        _directory: tempfile::TempDir,
        chess_dir: Utf8PathBuf,
    }

    fn two_saved() -> (Saved, Schedule, Schedule) {
        let directory = tempfile::tempdir().expect("a directory");
        let chess_dir = Utf8PathBuf::try_from(directory.path().to_owned()).expect("UTF-8");
        let one = sample();
        let mut other = sample();
        other.test.test = "other".into();
        one.save(&chess_dir).expect("a writable directory");
        other.save(&chess_dir).expect("a writable directory");
        let saved = Saved {
            _directory: directory,
            chess_dir,
        };
        (saved, one, other)
    }

    fn words(saved: &Saved, argument: &str) -> String {
        among_saved(argument, &saved.chess_dir, &[])
            .expect_err(argument)
            .to_string()
            .replace(saved.chess_dir.as_str(), "target/chess")
    }

    #[test]
    fn a_saved_failure_is_found_by_id_and_by_name() {
        let (saved, one, other) = two_saved();
        for (schedule, argument) in [
            (&one, one.id()),
            (&one, one.stem()),
            (&other, other.id()),
            (&other, other.stem()),
        ] {
            let found = among_saved(&argument, &saved.chess_dir, &[]).expect("it is saved");
            assert_eq!(&found, schedule);
            assert_eq!(by_itself(&argument).expect("no file"), None);
        }
    }

    #[test]
    fn a_failure_that_is_kept_too_is_found_once() {
        let (saved, one, _) = two_saved();
        let kept = saved.chess_dir.join("kept");
        let only = kept.join("only-1234.chess");
        one.save_in(&kept).expect("a writable directory");
        fs::write(&only, one.to_text()).expect("a file");
        for argument in [one.id(), "1234".to_owned()] {
            let found = among_saved(&argument, &saved.chess_dir, std::slice::from_ref(&kept));
            assert_eq!(found.expect("it is there"), one);
        }
    }

    #[test]
    fn a_schedule_is_read_from_a_file_and_from_an_inline_string() {
        let (saved, one, _) = two_saved();
        let path = failures_dir(&saved.chess_dir).join(one.stem() + ".chess");
        assert_eq!(by_itself(path.as_str()).expect("a file"), Some(one.clone()));
        assert_eq!(by_itself(&one.to_inline()).expect("a word"), Some(one));
    }

    #[test]
    fn a_text_that_names_no_schedule_is_an_error_that_lists_the_schedules() {
        let (saved, one, other) = two_saved();
        let namesake = failures_dir(&saved.chess_dir).join(format!("copy-{}.chess", one.id()));
        fs::write(&namesake, other.to_text()).expect("a file");
        let empty = tempfile::tempdir().expect("a directory");
        let empty = Utf8Path::from_path(empty.path()).expect("UTF-8");
        let none = among_saved("1234", empty, &[])
            .expect_err("nothing")
            .to_string();
        let missing = by_itself("missing.chess").expect_err("no file").to_string();
        insta::assert_snapshot!(
            [
                words(&saved, "bank-t-transfer"),
                words(&saved, &one.id()),
                none.replace(empty.as_str(), "target/chess"),
                missing,
            ]
            .join("\n\n")
        );
    }

    #[test]
    fn the_errors_of_a_file_name_it() {
        let (saved, one, _) = two_saved();
        let path = failures_dir(&saved.chess_dir).join(one.stem() + ".chess");
        fs::write(&path, [0xff, 0x00, b'\n']).expect("a file");
        let error = by_itself(path.as_str()).expect_err("no schedule");
        assert_eq!(error.exit_code(), crate::error::exit_code::USAGE);
        assert!(
            error.to_string().contains(".chess: this is not a schedule"),
            "{error}"
        );
    }
}
