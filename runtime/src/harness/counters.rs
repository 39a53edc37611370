//! Counters of an exploration, and the warnings that follow from them.

use super::covered::Growth;
use super::failures::MOST;
use super::nondeterminism::CULPRITS;
use super::phase::{Phase, Reach};
use super::{Exploration, Milestone};
use crate::base::source_path::{Place, line_of_place};
use crate::execution::Execution;
use crate::harness::engine::Engine;
use crate::memory::{MOST_EVENTS, MOST_STORES, Stale};
use crate::monitor::Spin;
use crate::monitor::race::{MOST_EPOCHS, MOST_MEMORY, MOST_TASKS};

impl Reach {
    /// The reach of the running search.
    pub(crate) fn of(exploration: &Exploration) -> Self {
        let complete = exploration.progress.complete
            && !exploration.unstable
            && exploration.cut_short.is_none();
        let share = exploration.share.as_ref();
        Self {
            complete,
            complete_of_all: complete && share.is_none_or(|share| !share.is_exhausted),
            bound_completed: bound_completed(exploration),
            bound_of_all: bound_of_all(exploration),
            delays_completed: exploration
                .progress
                .delays_completed
                .filter(|_| !exploration.unstable && exploration.diverged == 0)
                .filter(|_| exploration.cut_short.is_none()),
        }
    }
}

/// The reach of the whole exploration, and, if it differs, that of the schedules in which time
/// passes only when no task can run.
fn reaches(engine: &Engine) -> (Reach, Option<Reach>) {
    let (exploration, phases) = (&engine.exploration, &engine.exploration.phases);
    let now = Reach::of(exploration);
    match phases.phase {
        Phase::Last if engine.execution.could_be_early => (Reach::NONE, Some(now)),
        Phase::Only | Phase::Last => (now, None),
        Phase::Early => (now, phases.last),
    }
}

/// A copy of the exploration's counters, because a confirming execution overwrites those of the
/// engine.
pub(super) struct Counters {
    pub(super) schedules: u64,
    pub(super) work: u64,
    pub(super) executions: u64,
    pub(super) distinct: u64,
    /// The number of distinct observed states.
    pub(super) states: u64,
    /// The growth of the numbers of graphs and states.
    pub(super) growth: Vec<Growth>,
    pub(super) steps: u64,
    pub(super) max_steps: u64,
    pub(super) threads: usize,
    pub(super) reach: Reach,
    /// The reach of the schedules in which time passes only when no task can run, if it differs.
    pub(super) reach_last: Option<Reach>,
    pub(super) milestones: Vec<Milestone>,
    pub(super) deterministic: bool,
    pub(super) strategy: &'static str,
    pub(super) warnings: Vec<String>,
    /// Loops that wait without yielding, at the level of a warning.
    pub(super) spins: Vec<Spin>,
    /// Operations that could have late effects under a weaker memory model.
    pub(super) stale_loads: Vec<Stale>,
    /// The number of schedules in which an assumption of the test did not hold.
    pub(super) unmet: u64,
    /// The place of the first such assumption.
    pub(super) first_unmet: Option<Place>,
}

impl Counters {
    pub(super) fn read(engine: &Engine) -> Self {
        let exploration = &engine.exploration;
        let (reach, reach_last) = reaches(engine);
        Self {
            schedules: exploration.schedules,
            work: exploration.work,
            executions: exploration.executions,
            distinct: exploration.distinct.count(),
            states: exploration.covered.states.count(),
            growth: exploration
                .covered
                .growth_up_to(exploration.schedules, exploration.distinct.count())
                .collect(),
            steps: exploration.steps,
            max_steps: exploration.max_steps,
            threads: exploration.threads,
            reach,
            reach_last,
            milestones: exploration.milestones.to_vec(),
            deterministic: !exploration.unstable && exploration.diverged == 0,
            strategy: exploration.strategy,
            warnings: intended(&engine.monitors.outcome.intended)
                .chain(warnings(exploration))
                .collect(),
            spins: engine.monitors.spins.by_line(),
            stale_loads: engine.monitors.races.memory.stale.found.to_vec(),
            unmet: exploration.unmet,
            first_unmet: exploration.first_unmet.clone(),
        }
    }

    /// Counts the execution that killed the explorer.
    pub(super) fn with_crash(mut self, execution: &Execution) -> Self {
        self.schedules += 1;
        self.executions += 1;
        self.steps += execution.budget.steps;
        self.max_steps = self.max_steps.max(execution.budget.steps);
        self.threads = self.threads.max(execution.schedule.live);
        self
    }

    /// Adds a warning for the user.
    pub(super) fn warn(&mut self, sentence: &str) {
        self.warnings.push(sentence.to_owned());
    }

    /// Counts the executions that confirmed a failure.
    pub(super) fn add_executions(&mut self, count: u64) {
        self.executions += count;
    }
}

/// The bound that is finished in all parts of the space.
pub(super) fn bound_of_all(exploration: &Exploration) -> Option<u32> {
    let finished = bound_completed(exploration);
    let share = exploration.share.as_ref();
    share.map_or(finished, |share| finished.min(share.bound_completed))
}

/// The finished bound. A bound in which an execution was cut short is not finished.
fn bound_completed(exploration: &Exploration) -> Option<u32> {
    if exploration.unstable || exploration.diverged > 0 {
        return None;
    }
    let finished = exploration.progress.bound_completed;
    exploration
        .cut_short
        .map_or(finished, |bound| finished.min(bound.checked_sub(1)))
}

/// The warning about tasks that compute without end.
fn endless(exploration: &Exploration) -> Option<String> {
    (exploration.endless > 0).then(|| {
        format!(
            "in {} of {} schedules, a task computed without reaching a scheduling point ({}). The \
             other tasks continued, and this task was ended after the test's body had returned. The \
             verdict does not cover its later operations: call std::thread::yield_now in its loop",
            exploration.endless,
            exploration.schedules,
            String::from_utf8_lossy(&exploration.first_endless)
        )
    })
}

/// Warnings about the panics of the first schedule that no join receives.
fn intended(places: &[Place]) -> impl Iterator<Item = String> {
    places.iter().map(|place| {
        format!(
            "an unjoined thread panics at {} in the first schedule. `cargo test` ignores this \
             panic, so it is assumed to be intended: join the thread if it is not",
            line_of_place(place)
        )
    })
}

fn warnings(exploration: &Exploration) -> Vec<String> {
    let mut all = Vec::new();
    if exploration.unstable {
        let difference = match &*String::from_utf8_lossy(&exploration.difference) {
            "" => String::new(),
            words => format!(" ({words})"),
        };
        all.push(format!(
            "the first schedule ran differently the second time{difference}: the test depends on \
             more than its schedule; {CULPRITS}"
        ));
    } else if !exploration.difference.is_empty() {
        all.push(format!(
            "two runs of one schedule differed ({}): the test depends on more than its \
             schedule; {CULPRITS}",
            String::from_utf8_lossy(&exploration.difference)
        ));
    }
    if exploration.diverged > 0 {
        all.push(format!(
            "{} of {} schedules could not be repeated, and the schedules after them were not \
             explored: the test depends on more than its schedule; {CULPRITS}",
            exploration.diverged, exploration.schedules
        ));
    }
    if exploration.long > 0 && exploration.failure.is_none() {
        all.push(format!(
            "{} of {} schedules took more than --max-steps steps: their later steps were run \
             without choices",
            exploration.long, exploration.schedules
        ));
    }
    if exploration.too_long > 0 {
        all.push(format!(
            "{} of {} schedules ran far beyond --max-steps and were abandoned without a verdict: \
             use fewer iterations in the test, or a larger --max-steps",
            exploration.too_long, exploration.schedules
        ));
    }
    all.extend(endless(exploration));
    if exploration.few_stores > 0 {
        all.push(format!(
            "in {} of {} schedules, some stale loads were not explored: the memory model is applied \
             to at most {MOST_EVENTS} events, and to the last {MOST_STORES} stores of an atomic; use \
             fewer iterations in the test",
            exploration.few_stores, exploration.schedules
        ));
    }
    if exploration.many_tasks > 0 {
        all.push(format!(
            "{} of {} schedules had more than {MOST_TASKS} tasks that had ended unjoined, and \
             later data races were not detected: join the threads, or start fewer",
            exploration.many_tasks, exploration.schedules
        ));
    }
    if exploration.much_memory > 0 {
        all.push(format!(
            "{} of {} schedules accessed more plain memory than the {} MiB with a stored history, \
             and later data races were not detected: use less memory in the test",
            exploration.much_memory,
            exploration.schedules,
            MOST_MEMORY >> 20
        ));
    }
    if exploration.many_releases > 0 {
        all.push(format!(
            "in {} of {} schedules, tasks synchronized more than {MOST_EPOCHS} times, and later \
             data races were not detected: use fewer iterations in the test",
            exploration.many_releases, exploration.schedules
        ));
    }
    if exploration.foreign_heap {
        all.push(
            "the program has a global allocator of its own, which cannot be restored: each \
             execution ran in a process of its own (--isolate fork)"
                .to_owned(),
        );
    }
    if let Some(function) = exploration.changes_process {
        all.push(format!(
            "the program calls {function}, which changes its process permanently: each execution ran \
             in a process of its own (--isolate fork)"
        ));
    }
    all.extend(
        exploration
            .warned
            .iter()
            .map(|words| format!("data race: {}", String::from_utf8_lossy(words))),
    );
    if exploration.more_failures {
        all.push(format!(
            "there are more than {MOST} different failures, and only the first {MOST} are reported: \
             fix some of them to see the others"
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::memory::{EngineVec, engine_vec};

    #[test]
    fn each_limit_that_was_met_is_told_with_what_to_do() {
        let mut exploration = Exploration::new();
        assert!(warnings(&exploration).is_empty());
        exploration.schedules = 9;
        exploration.diverged = 1;
        exploration.long = 2;
        exploration.too_long = 3;
        exploration.endless = 3;
        exploration.first_endless = words("task 1 after start");
        exploration.few_stores = 2;
        exploration.many_tasks = 4;
        exploration.much_memory = 5;
        exploration.many_releases = 6;
        exploration.foreign_heap = true;
        exploration.changes_process = Some("setuid");
        exploration.more_failures = true;
        exploration.warned.push(words("a race"));
        let begins_and_ends = [
            ("1 of 9 schedules could not be repeated", CULPRITS),
            (
                "2 of 9 schedules took more than --max-steps",
                "without choices",
            ),
            (
                "3 of 9 schedules ran far beyond --max-steps",
                "a larger --max-steps",
            ),
            (
                "in 3 of 9 schedules, a task computed without reaching a scheduling point (task 1 after start). ",
                "in its loop",
            ),
            (
                "in 2 of 9 schedules, some stale loads were not explored",
                "in the test",
            ),
            ("4 of 9 schedules had more than 1024 tasks", "start fewer"),
            (
                "5 of 9 schedules accessed more plain memory than the 256 MiB",
                "in the test",
            ),
            (
                "in 6 of 9 schedules, tasks synchronized more than",
                "in the test",
            ),
            (
                "the program has a global allocator of its own",
                "(--isolate fork)",
            ),
            (
                "the program calls setuid, which changes its process permanently",
                "(--isolate fork)",
            ),
            ("data race: ", "a race"),
            ("there are more than", "to see the others"),
        ];
        let printed = warnings(&exploration);
        assert_eq!(printed.len(), begins_and_ends.len(), "{printed:#?}");
        for (printed, (begin, end)) in printed.iter().zip(begins_and_ends) {
            assert!(
                printed.starts_with(begin) && printed.ends_with(end),
                "{printed}"
            );
        }
    }

    #[test]
    fn what_depends_on_more_than_its_schedule_is_told_with_the_culprits() {
        let mut exploration = Exploration::new();
        exploration.difference = words("step 3");
        let printed = warnings(&exploration).concat();
        assert!(printed.starts_with("two runs of one schedule differed (step 3): "));
        assert!(printed.ends_with(CULPRITS));
        exploration.unstable = true;
        let printed = warnings(&exploration).concat();
        assert!(
            printed.starts_with("the first schedule ran differently the second time (step 3): ")
        );
        assert!(printed.ends_with(CULPRITS));
    }

    fn words(text: &str) -> EngineVec<u8> {
        let mut words = engine_vec();
        words.extend_from_slice(text.as_bytes());
        words
    }
}
