//! The warnings of an exploration, as data for the supervisor.

use chess_vocabulary::words::sentence;
use chess_vocabulary::{Token as _, WarningKind};

use super::Exploration;
use super::distinct_failures::MOST;
use super::json::{Object, location};
use super::nondeterminism::Performed;
use crate::base::source_path::Place;
use crate::memory::{MOST_EVENTS, MOST_STORES};
use crate::monitor::race::{MOST_EPOCHS, MOST_MEMORY, MOST_TASKS};

fn of_kind(kind: WarningKind) -> Object {
    Object::new().string("kind", kind.token())
}

/// The warning that a search ended early. `reason` is the reason in words; `None` if a schedule
/// crashed the process.
pub(super) fn ended_early(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => of_kind(WarningKind::EndedEarly).string("text", &sentence(reason)),
        None => of_kind(WarningKind::Crashed),
    }
    .finish()
}

/// Warnings about the panics of the first schedule that no join receives.
pub(super) fn intended(places: &[Place]) -> impl Iterator<Item = String> {
    let warning = |place| of_kind(WarningKind::UnjoinedPanic).raw("location", &location(place));
    places.iter().map(move |place| warning(place).finish())
}

/// The warnings of an exploration, except those of [`ended_early`] and [`intended`].
pub(super) fn warnings(exploration: &Exploration) -> Vec<String> {
    let mut all = Vec::new();
    if exploration.unstable {
        all.push(differing(WarningKind::Unstable, exploration));
    } else if exploration.difference.is_some() {
        all.push(differing(WarningKind::Differed, exploration));
    }
    let limited = |kind, count, limits: &[u64]| {
        let warning = (count > 0).then(|| counted(kind, count, limits, exploration));
        warning.map(Object::finish)
    };
    all.extend(limited(
        WarningKind::Unrepeatable,
        exploration.diverged,
        &[],
    ));
    if exploration.failure.is_none() {
        all.extend(limited(WarningKind::Long, exploration.long, &[]));
    }
    all.extend(limited(WarningKind::Abandoned, exploration.too_long, &[]));
    if exploration.endless > 0 {
        let first = exploration.first_endless.as_ref().map(performed);
        let warning = counted(WarningKind::Endless, exploration.endless, &[], exploration);
        let warning = warning.raw("first", first.as_deref().unwrap_or("null"));
        all.push(warning.finish());
    }
    for (kind, count, limits) in [
        (
            WarningKind::FewStores,
            exploration.few_stores,
            &[MOST_EVENTS as u64, MOST_STORES as u64][..],
        ),
        (
            WarningKind::ManyTasks,
            exploration.many_tasks,
            &[MOST_TASKS as u64],
        ),
        (
            WarningKind::MuchMemory,
            exploration.much_memory,
            &[MOST_MEMORY as u64 >> 20],
        ),
        (
            WarningKind::ManyReleases,
            exploration.many_releases,
            &[MOST_EPOCHS as u64],
        ),
    ] {
        all.extend(limited(kind, count, limits));
    }
    if exploration.foreign_heap {
        all.push(of_kind(WarningKind::OwnAllocator).finish());
    }
    if let Some(function) = exploration.changes_process {
        let warning = of_kind(WarningKind::ChangesProcess).string("text", function);
        all.push(warning.finish());
    }
    all.extend(exploration.warned.iter().map(|words| {
        let words = String::from_utf8_lossy(words);
        let warning = of_kind(WarningKind::Race).string("text", &sentence(&words));
        warning.finish()
    }));
    if exploration.more_failures {
        let warning = of_kind(WarningKind::ManyFailures);
        all.push(with_limits(warning, &[MOST as u64]).finish());
    }
    all
}

/// A warning about a number of schedules.
fn counted(kind: WarningKind, count: u64, limits: &[u64], exploration: &Exploration) -> Object {
    let warning = of_kind(kind)
        .number("count", count)
        .number("schedules", exploration.schedules);
    with_limits(warning, limits)
}

fn with_limits(warning: Object, limits: &[u64]) -> Object {
    warning.array("limits", limits.iter().map(u64::to_string))
}

/// A warning about two runs of one schedule, with their first difference if it is known.
fn differing(kind: WarningKind, exploration: &Exploration) -> String {
    let warning = of_kind(kind);
    let Some(difference) = &exploration.difference else {
        return warning.finish();
    };
    let [first, second] =
        [&difference.first, &difference.second].map(|it| it.as_ref().map(performed));
    let left_path = difference.left_path.as_deref().map(String::from_utf8_lossy);
    warning
        .number("step", difference.step as u64)
        .raw("first", first.as_deref().unwrap_or("null"))
        .raw("second", second.as_deref().unwrap_or("null"))
        .optional_string("text", left_path.as_deref())
        .finish()
}

/// An operation of a task.
fn performed(performed: &Performed) -> String {
    let place = performed.place.as_ref().map(location);
    Object::new()
        .number("task", performed.task.0.into())
        .string("op", performed.op.token())
        .raw("location", place.as_deref().unwrap_or("null"))
        .finish()
}

#[cfg(test)]
mod tests {
    use chess_vocabulary::{Op, TaskId};

    use super::*;
    use crate::base::memory::engine_vec;
    use crate::harness::nondeterminism::Difference;

    #[test]
    fn each_limit_that_was_met_is_reported_with_its_numbers() {
        let mut exploration = Exploration::new();
        assert!(warnings(&exploration).is_empty());
        exploration.schedules = 9;
        exploration.diverged = 1;
        exploration.long = 2;
        exploration.too_long = 3;
        exploration.endless = 3;
        exploration.first_endless = Some(start_of_task(1));
        exploration.few_stores = 2;
        exploration.many_tasks = 4;
        exploration.much_memory = 5;
        exploration.many_releases = 6;
        exploration.foreign_heap = true;
        exploration.changes_process = Some("setuid");
        exploration.more_failures = true;
        let mut words = engine_vec();
        words.extend_from_slice(b"a race");
        exploration.warned.push(words);
        assert_eq!(warnings(&exploration).join("\n"), [
                r#"{"kind":"unrepeatable","count":1,"schedules":9,"limits":[]}"#,
                r#"{"kind":"long","count":2,"schedules":9,"limits":[]}"#,
                r#"{"kind":"abandoned","count":3,"schedules":9,"limits":[]}"#,
                r#"{"kind":"endless","count":3,"schedules":9,"limits":[],"first":{"task":1,"op":"Start","location":null}}"#,
                r#"{"kind":"few-stores","count":2,"schedules":9,"limits":[1024,64]}"#,
                r#"{"kind":"many-tasks","count":4,"schedules":9,"limits":[1024]}"#,
                r#"{"kind":"much-memory","count":5,"schedules":9,"limits":[256]}"#,
                r#"{"kind":"many-releases","count":6,"schedules":9,"limits":[4194304]}"#,
                r#"{"kind":"own-allocator"}"#,
                r#"{"kind":"changes-process","text":"setuid"}"#,
                r#"{"kind":"race","text":"a race"}"#,
                r#"{"kind":"many-failures","limits":[32]}"#,
            ]
            .join("\n"));
    }

    #[test]
    fn a_test_that_depends_on_more_than_its_schedule_is_reported_with_the_difference() {
        let mut exploration = Exploration::new();
        let mut left_path = engine_vec();
        left_path.extend_from_slice(b"/a/b");
        exploration.difference = Some(Difference {
            step: 3,
            first: Some(start_of_task(1)),
            second: None,
            left_path: Some(left_path),
        });
        let fields = r#""step":3,"first":{"task":1,"op":"Start","location":null},"second":null,"text":"/a/b"}"#;
        let reported = warnings(&exploration).concat();
        assert_eq!(reported, format!(r#"{{"kind":"differed",{fields}"#));
        exploration.unstable = true;
        let reported = warnings(&exploration).concat();
        assert_eq!(reported, format!(r#"{{"kind":"unstable",{fields}"#));
    }

    fn start_of_task(task: u32) -> Performed {
        Performed {
            task: TaskId(task),
            op: Op::Start,
            place: None,
        }
    }
}
