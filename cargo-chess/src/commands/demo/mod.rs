//! `cargo chess demo`: a shipped example from the bug to its correction.

mod stories;

use std::fs;
use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};

use super::replay;
use crate::analysis::Detail;
use crate::build::Build;
use crate::cli::{CargoArgs, DemoArgs, RunOptions};
use crate::config::{ENV_PREFIX, Layer};
use crate::error::{Error, Result, exit_code};
use crate::events::{Event, Outcome, TestFinished};
use crate::interrupt::Interrupt;
use crate::report::{Reporter, RunState, reporter};
use crate::schedule::directory::id_in;
use crate::schedule::{Schedule, replay_command};
use crate::session::Session;
use crate::shell::Shell;
use crate::suggest;
use crate::supervise::{self, Inputs, ReplayResult};
use crate::text::wrapped;
use stories::{STORIES, Story};

/// The name of the test with the bug, in each example.
const BUGGY: &str = "buggy";

/// The name of the test without the bug.
const CORRECTED: &str = "corrected";

/// The width of the narration, in columns.
const NARRATION_WIDTH: usize = 88;

/// Finds the bug of an example, replays it and verifies the corrected version. The exit code is 0
/// if all steps succeed.
pub(crate) fn run(args: &DemoArgs, interrupt: &Interrupt) -> Result<u8> {
    let story = find(args.name.as_deref())?;
    let directory = unpack(story)?;
    let shell = args.output.shell();
    let mut cargo = CargoArgs::default();
    cargo.manifest.manifest_path = Some(directory.join("Cargo.toml"));
    // The user's environment and configuration may set another target directory.
    cargo.build.target_dir = Some(directory.join("target"));
    shell.status("Demo", format!("{}: {}", story.name, story.title));
    shell.status("Source", &directory);
    let session = Session::open(&cargo, None, &Layer::default())?;
    let stage = Stage {
        story,
        build: session.build(&cargo, &args.output, interrupt)?,
        session: &session,
        // The paths of saved schedules are not printed: they would be relative to the example's
        // directory, and the user's current directory is another one.
        options: RunOptions {
            print_saved: false,
            ..RunOptions::new(&args.output, None)
        },
        interrupt,
        shell,
    };
    let schedule = stage.play()?;
    say(shell, "");
    shell.status(
        "Done",
        "the bug was found, explained and replayed, and the corrected version was verified",
    );
    let directory = shell_word(directory.as_str());
    shell.status(
        "Next",
        format!("cd {directory} && {}", replay_command(schedule)),
    );
    let others: Vec<&str> = names().filter(|name| *name != story.name).collect();
    shell.status("More", format!("cargo chess demo {}", others.join("|")));
    Ok(exit_code::OK)
}

/// `text` as one word of a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:".contains(c);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    STORIES.iter().map(|story| story.name)
}

fn find(name: Option<&str>) -> Result<&'static Story> {
    let Some(name) = name else {
        return Ok(&STORIES[0]);
    };
    STORIES
        .iter()
        .find(|story| story.name == name)
        .ok_or_else(|| {
            let nearest = suggest::nearest(name, names())
                .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
            let all: Vec<&str> = names().collect();
            Error::Usage(format!(
                "there is no demo `{name}`{nearest}; the demos are: {}",
                all.join(", ")
            ))
        })
}

/// Writes the example's files to a permanent directory, so that the user can continue with them: an
/// installed binary has no checkout that contains them.
fn unpack(story: &Story) -> Result<Utf8PathBuf> {
    let base = match crate::toolchain::cache::shared_dir()? {
        Some(cache) => camino::absolute_utf8(&cache).map_err(Error::io("find", &cache))?,
        None => {
            Utf8PathBuf::try_from(std::env::temp_dir().join("cargo-chess")).map_err(|error| {
                Error::Usage(format!(
                    "the path of the directory for temporary files is not UTF-8 ({error}): set \
                     CHESS_CACHE_DIR to a directory with a UTF-8 path"
                ))
            })?
        }
    };
    let directory = base.join("demo").join(story.name);
    for (name, contents) in story.files {
        let path = directory.join(name);
        write(&path, contents)?;
    }
    Ok(directory)
}

/// Writes `contents` to `path`, unless the file already has these contents. Cargo would build the
/// example again if the modification time changed.
fn write(path: &Utf8Path, contents: &str) -> Result<()> {
    if fs::read(path).is_ok_and(|held| held == contents.as_bytes()) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Error::io("create the directory", parent))?;
    }
    fs::write(path, contents).map_err(Error::io("write", path))
}

/// A demo after its build.
struct Stage<'a> {
    story: &'static Story,
    session: &'a Session,
    build: Build,
    options: RunOptions,
    interrupt: &'a Interrupt,
    shell: Shell,
}

impl Stage<'_> {
    /// Runs all steps. Returns the path of the failing schedule, relative to the example's
    /// directory.
    fn play(&self) -> Result<String> {
        self.say(self.story.intro);
        self.command(
            "1",
            format_args!("test {BUGGY}"),
            "explores every interleaving with 0 preemptions, then with 1, ...",
        );
        let buggy = self.explore(BUGGY)?;
        let (path, schedule) = self.expect_failure(&buggy)?;
        self.say(self.story.lesson);

        self.command(
            "2",
            format_args!("replay {}", id_in(&path)),
            "runs the saved schedule again",
        );
        let replayed = supervise::replay(self.session, &self.build, &schedule, self.interrupt)?;
        let code = replay::report(self.session, &self.options, &schedule, &replayed)?;
        if replayed.result(&schedule) != ReplayResult::Reproduced
            || code != exit_code::FAILURE_FOUND
        {
            return Err(unexpected(
                "the saved schedule did not fail in the same way again",
            ));
        }

        self.command(
            "3",
            format_args!("test {CORRECTED}"),
            "explores the corrected version",
        );
        let corrected = self.explore(CORRECTED)?;
        let (test, detail) = corrected.verdict()?;
        let verified =
            test.complete || test.bound_completed >= Some(detail.exploration.preemptions);
        if test.outcome != Outcome::Passed || !verified {
            return Err(unexpected("the corrected test was not verified"));
        }
        Ok(path)
    }

    fn explore(&self, test: &str) -> Result<VerdictRecorder> {
        let options = RunOptions {
            filters: vec![test.to_owned()],
            exact: true,
            ..self.options.clone()
        };
        let mut recorder = VerdictRecorder {
            reporter: reporter(&options, &self.session.plan.workspace_root)?,
            last_verdict: None,
        };
        supervise::run(
            Inputs {
                plan: &self.session.plan,
                config: &self.session.config,
                build: &self.build,
                cargo_flags: "",
                options: &options,
                gating: None,
                interrupt: self.interrupt,
            },
            &mut recorder,
        )?;
        if self.interrupt.requested() {
            return Err(Error::Interrupted);
        }
        Ok(recorder)
    }

    fn expect_failure(&self, recorder: &VerdictRecorder) -> Result<(String, Schedule)> {
        let (test, detail) = recorder.verdict()?;
        match (&test.schedule, &detail.schedule) {
            (Some(path), Some(schedule)) if test.kind == Some(self.story.kind) => {
                Ok((path.clone(), schedule.clone()))
            }
            _ => Err(unexpected("the bug of the example was not found")),
        }
    }

    fn say(&self, text: &str) {
        say(self.shell, "");
        say(self.shell, text);
    }

    fn command(&self, number: &str, command: std::fmt::Arguments<'_>, what: &str) {
        say(self.shell, "");
        self.shell.status(
            &format!("Step {number}"),
            format!("cargo chess {command}   ({what})"),
        );
    }
}

/// Prints the narration, wrapped to a readable width.
fn say(shell: Shell, text: &str) {
    if shell.verbosity >= 0 {
        // A closed standard error cannot be reported.
        let _ = writeln!(io::stderr(), "{}", wrapped(text, NARRATION_WIDTH));
    }
}

fn unexpected(what: &str) -> Error {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    unexpected_under(what, names.filter(|name| name.starts_with(ENV_PREFIX)))
}

/// The error for a demo with an unexpected result. `options` are the names of the environment
/// variables that set options of the exploration.
fn unexpected_under(what: &str, options: impl Iterator<Item = String>) -> Error {
    let sentence = format!("the demo had an unexpected result: {what}");
    let mut options: Vec<String> = options.collect();
    options.sort();
    if options.is_empty() {
        return Error::Internal(sentence);
    }
    Error::Usage(format!(
        "{sentence}.\nThe demo needs the default options: unset {}.",
        options.join(", ")
    ))
}

/// A reporter that passes everything to another reporter, and stores the last verdict.
struct VerdictRecorder {
    reporter: Box<dyn Reporter>,
    last_verdict: Option<(TestFinished, Detail)>,
}

impl VerdictRecorder {
    fn verdict(&self) -> Result<&(TestFinished, Detail)> {
        self.last_verdict
            .as_ref()
            .ok_or_else(|| unexpected("no test was run"))
    }
}

impl Reporter for VerdictRecorder {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        if let (Event::TestFinished(test), Some(detail)) = (event, detail) {
            self.last_verdict = Some(((**test).clone(), detail.clone()));
        }
        self.reporter.event(event, detail)
    }

    fn state(&mut self, state: &RunState) {
        self.reporter.state(state);
    }

    fn warn(&mut self, message: &str) {
        self.reporter.warn(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_is_found_by_name_and_the_first_is_the_default() {
        assert_eq!(find(None).expect("a default").name, "bank");
        for story in STORIES {
            assert_eq!(
                find(Some(story.name)).expect("it is there").name,
                story.name
            );
        }
        let error = find(Some("bnak")).err().expect("no such demo");
        assert_eq!(
            error.to_string(),
            "there is no demo `bnak` (did you mean `bank`?); the demos are: bank, abba, lost-wakeup"
        );
    }

    #[test]
    fn a_demo_that_goes_wrong_is_a_defect_unless_options_are_set() {
        let what = "the bug of the example was not found";
        let error =
            |options: &[&str]| unexpected_under(what, options.iter().map(ToString::to_string));
        assert_eq!(error(&[]).exit_code(), exit_code::INTERNAL);
        let set = error(&["CHESS_EXPLORE_SEED", "CHESS_EXPLORE_SCHEDULES"]);
        assert_eq!(set.exit_code(), exit_code::USAGE);
        insta::assert_snapshot!(set, @r"
        the demo had an unexpected result: the bug of the example was not found.
        The demo needs the default options: unset CHESS_EXPLORE_SCHEDULES, CHESS_EXPLORE_SEED.
        ");
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(shell_word("/home/u/.cache/demo"), "/home/u/.cache/demo");
        assert_eq!(shell_word("/home/u's place"), r"'/home/u'\''s place'");
    }

    #[test]
    fn each_demo_is_a_package_of_its_own_with_both_tests() {
        for story in STORIES {
            let text = |ending: &str| -> String {
                let files = story
                    .files
                    .iter()
                    .filter(|(name, _)| name.ends_with(ending));
                files.map(|(_, contents)| *contents).collect()
            };
            assert!(text("Cargo.toml").contains(&format!("name = \"{}\"", story.name)));
            assert!(text("Cargo.toml").contains("[workspace]"));
            for test in [BUGGY, CORRECTED] {
                assert!(
                    text(".rs").contains(&format!("#[test]\nfn {test}()")),
                    "{}",
                    story.name
                );
            }
        }
    }
}
