//! The warnings about an exploration, as a test binary reports them, and their words.

use chess_vocabulary::{Op, TaskId, WarningKind, line_of};
use serde::{Deserialize, Serialize};

use super::token;
use crate::events::Location;

/// The conclusion that a test depends on more than its schedule, and the usual causes.
const CULPRITS: &str = "so the test depends on more than its schedule. The usual causes are real \
                        time, random numbers, files, the environment, addresses that are used as \
                        numbers, and state outside of the process";

/// The consequence if two runs of one schedule differed.
const NO_COVERAGE: &str =
    "No guarantee about the explored schedules is possible. Every reported failure is real";

/// The remedy if the step at which the runs differ is known.
const LOOK: &str = "To find the cause, look at the code before the step that differs";

/// A warning. Its kind decides which of the other fields have values.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Warning {
    /// The kind of the warning.
    #[serde(with = "token")]
    pub kind: WarningKind,
    /// The number of schedules with the problem.
    #[serde(default)]
    pub count: u64,
    /// The number of all schedules.
    #[serde(default)]
    pub schedules: u64,
    /// The limits that were reached.
    #[serde(default)]
    pub limits: Vec<u64>,
    /// The number of the step in which two runs differed, from 1.
    #[serde(default)]
    pub step: Option<u64>,
    /// The operation of the first run in the step in which two runs differed. In a warning about
    /// an endless task, the last operation of this task.
    #[serde(default)]
    pub first: Option<Performed>,
    /// The operation of the second run in the step in which two runs differed.
    #[serde(default)]
    pub second: Option<Performed>,
    /// The place of a panic.
    #[serde(default)]
    pub location: Option<Location>,
    /// A text that depends on the kind: the name of a function, the message of a race, the reason
    /// for the end of a search, or the path that the second run could not create because an
    /// earlier run had created it.
    #[serde(default)]
    pub text: Option<String>,
}

/// An operation of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Performed {
    /// The task.
    pub task: u32,
    /// The operation.
    #[serde(with = "token")]
    pub op: Op,
    /// The place of the operation, if it is known.
    #[serde(default)]
    pub location: Option<Location>,
}

impl Performed {
    /// The place, as the end of a sentence.
    fn at(&self) -> String {
        let at = |it: &Location| format!(" at {}", line_of(&it.file, it.line));
        self.location.as_ref().map(at).unwrap_or_default()
    }

    /// For example, `load of task 1 at src/lib.rs:12`.
    fn words(&self) -> String {
        format!("{} of {}{}", self.op.name(), TaskId(self.task), self.at())
    }
}

impl Warning {
    /// The warning as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self {
            count,
            schedules: all,
            ..
        } = self;
        let limit = |index: usize| self.limits.get(index).copied().unwrap_or_default();
        let text = self.text.as_deref().unwrap_or_default();
        match self.kind {
            WarningKind::UnjoinedPanic => {
                let place = self.location.as_ref();
                let place = place.map(|it| line_of(&it.file, it.line));
                format!(
                    "an unjoined thread panics at {} in the first schedule. `cargo test` ignores \
                     this panic, so cargo chess assumes that it is intended: if it is not, join the thread",
                    place.unwrap_or_default()
                )
            }
            WarningKind::Unstable => self.differing("the first schedule"),
            WarningKind::Differed => self.differing("one schedule"),
            WarningKind::Unrepeatable => format!(
                "{count} of {all} schedules could not be repeated, and the schedules after them \
                 were not explored, {CULPRITS}"
            ),
            WarningKind::Long => format!(
                "{count} of {all} schedules took more than --max-steps steps: the choices in their \
                 later steps were not explored"
            ),
            WarningKind::Abandoned => format!(
                "{count} of {all} schedules ran far beyond --max-steps and were abandoned without \
                 a verdict: use fewer iterations in the test, or a larger --max-steps or --time"
            ),
            WarningKind::Endless => self.endless(),
            WarningKind::FewStores => format!(
                "in {count} of {all} schedules, some stale loads were not explored: the memory \
                 model is applied to at most {} events, and to the last {} stores of an atomic; \
                 use fewer iterations in the test",
                limit(0),
                limit(1)
            ),
            WarningKind::ManyTasks => format!(
                "{count} of {all} schedules had more than {} tasks that were not joined, and \
                 later data races were not detected: join the threads, or start fewer",
                limit(0)
            ),
            WarningKind::MuchMemory => format!(
                "{count} of {all} schedules accessed more plain memory than the {} MiB that the race \
                 detector can watch, and later data races were not detected: use less memory in \
                 the test",
                limit(0)
            ),
            WarningKind::ManyReleases => format!(
                "in {count} of {all} schedules, tasks synchronized more than {} times, and later \
                 data races were not detected: use fewer iterations in the test",
                limit(0)
            ),
            WarningKind::OwnAllocator => {
                "the program has a global allocator of its own, which cannot be restored: each \
                 execution ran in a process of its own (--isolate fork)"
                    .to_owned()
            }
            WarningKind::ChangesProcess => format!(
                "the program calls {text}, which changes its process permanently: each execution \
                 ran in a process of its own (--isolate fork)"
            ),
            WarningKind::Race => format!("data race: {text}"),
            WarningKind::ManyFailures => {
                let most = limit(0);
                format!(
                    "there are more than {most} different failures, and only the first {most} are \
                     reported: fix some of them to see the others"
                )
            }
            WarningKind::EndedEarly => format!("the search ended early: {text}"),
            WarningKind::Crashed => {
                "the search ended early: a schedule crashed the test process".to_owned()
            }
        }
    }

    fn endless(&self) -> String {
        let task = self.first.as_ref().map(|it| {
            let (task, op) = (TaskId(it.task), it.op.name());
            format!("{task} after {op}{}", it.at())
        });
        format!(
            "in {} of {} schedules, a task computed for a long time without reaching a scheduling \
             point ({}). The other tasks continued without it, and it was ended after the test's body \
             had returned. Its later operations were not explored. If the task runs a loop, call \
             std::thread::yield_now in the loop: this call is a scheduling point",
            self.count,
            self.schedules,
            task.unwrap_or_default()
        )
    }

    /// The warning that two runs of `schedule` differed.
    fn differing(&self, schedule: &str) -> String {
        let (difference, look) = match self.difference() {
            Some(words) => (format!(" ({words})"), format!(". {LOOK}")),
            None => (String::new(), String::new()),
        };
        let start = format!("two runs of {schedule} differed{difference}");
        match &self.text {
            Some(path) => format!(
                "{start}: the second run could not create `{path}`, because an earlier run had \
                 created it. All runs of a schedule have the same time, process id and random \
                 numbers, so a file name made from them repeats: remove the file at the end of the \
                 test, or create it below `std::env::temp_dir()`. {NO_COVERAGE}"
            ),
            None => format!("{start}, {CULPRITS}. {NO_COVERAGE}{look}"),
        }
    }

    /// The operations of the step in which two runs differed. A run may have ended before the step.
    fn difference(&self) -> Option<String> {
        let step = self.step?;
        let words = |it: &Option<Performed>| it.as_ref().map(Performed::words);
        if let Some(first) = words(&self.first)
            && words(&self.second).as_ref() == Some(&first)
        {
            return Some(format!(
                "step {step}, {first}, had another object or outcome in the second run"
            ));
        }
        let first = self.first.as_ref().map_or_else(
            || format!("the first run ended before step {step}"),
            |it| format!("step {step} was {} in the first run", it.words()),
        );
        let second = self.second.as_ref().map_or_else(
            || "the second run ended before this step".to_owned(),
            |it| format!("{} in the second run", it.words()),
        );
        Some(format!("{first}, and {second}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(line: &str) -> String {
        let warning: Warning = serde_json::from_str(line).expect("a warning");
        warning.sentence()
    }

    #[test]
    fn each_limit_that_was_met_is_reported_with_its_remedy() {
        for (kind, limits, begin, end) in [
            (
                "unrepeatable",
                "[]",
                "2 of 9 schedules could not be repeated",
                "outside of the process",
            ),
            (
                "long",
                "[]",
                "2 of 9 schedules took more than --max-steps",
                "were not explored",
            ),
            (
                "abandoned",
                "[]",
                "2 of 9 schedules ran far beyond --max-steps",
                "a larger --max-steps or --time",
            ),
            (
                "few-stores",
                "[7,8]",
                "in 2 of 9 schedules, some stale loads were not explored: the memory model is \
                 applied to at most 7 events, and to the last 8 stores",
                "in the test",
            ),
            (
                "many-tasks",
                "[7]",
                "2 of 9 schedules had more than 7 tasks",
                "start fewer",
            ),
            (
                "much-memory",
                "[7]",
                "2 of 9 schedules accessed more plain memory than the 7 MiB",
                "in the test",
            ),
            (
                "many-releases",
                "[7]",
                "in 2 of 9 schedules, tasks synchronized more than 7 times",
                "in the test",
            ),
            (
                "own-allocator",
                "[]",
                "the program has a global allocator of its own",
                "(--isolate fork)",
            ),
            (
                "many-failures",
                "[7]",
                "there are more than 7 different failures",
                "to see the others",
            ),
        ] {
            let line = format!(r#"{{"kind":"{kind}","count":2,"schedules":9,"limits":{limits}}}"#);
            let printed = sentence(&line);
            assert!(
                printed.starts_with(begin) && printed.ends_with(end),
                "{printed}"
            );
        }
    }

    #[test]
    fn a_task_without_an_end_is_reported_with_its_last_operation() {
        let line = r#"{"kind":"endless","count":3,"schedules":9,"limits":[],"first":{"task":1,"op":"Start","location":null}}"#;
        insta::assert_snapshot!(sentence(line), @"in 3 of 9 schedules, a task computed for a long time without reaching a scheduling point (task 1 after start). The other tasks continued without it, and it was ended after the test's body had returned. Its later operations were not explored. If the task runs a loop, call std::thread::yield_now in the loop: this call is a scheduling point");
    }

    #[test]
    fn two_runs_of_one_schedule_are_compared_in_the_step_of_their_difference() {
        let line = r#"{"kind":"unstable","step":3,"first":{"task":1,"op":"Start","location":{"file":"src/lib.rs","line":4,"column":1}},"second":null}"#;
        let words = sentence(line);
        assert!(words.starts_with(
            "two runs of the first schedule differed (step 3 was start of task 1 at \
             src/lib.rs:4 in the first run, and the second run ended before this step), so the test"
        ));
        assert!(sentence(r#"{"kind":"unstable"}"#).contains("differed, so the test"));
        let line = r#"{"kind":"differed","step":3,"first":null,"second":null,"text":"/a/b"}"#;
        assert!(sentence(line).contains("the second run could not create `/a/b`, because"));
        let start = r#"{"task":1,"op":"Start","location":null}"#;
        let line = format!(r#"{{"kind":"unstable","step":3,"first":{start},"second":{start}}}"#);
        assert!(sentence(&line).starts_with(
            "two runs of the first schedule differed (step 3, start of task 1, had another object \
             or outcome in the second run), so the test"
        ));
    }
}
