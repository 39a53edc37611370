//! The request of the supervisor to a test binary: the lines of `CHESS_REQUEST`.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use chess_vocabulary::words;

use crate::config::{Exploration, Fault};
use crate::shard::Shard;

/// The variable that carries the request.
pub(super) const VARIABLE: &str = "CHESS_REQUEST";

/// Milliseconds between two checkpoints of a search.
const SAVE_MS: u32 = 1000;

/// The job of a test binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode<'a> {
    /// Explore the schedules.
    Explore,
    /// Run one schedule.
    Replay {
        /// The decisions, run-length encoded.
        decisions: &'a str,
        /// The lines whose accesses to plain memory are scheduling points.
        points: &'a [String],
        /// The lines whose panics are intended even if no join receives them.
        intended: &'a [String],
        /// Whether the schedule is known to have no end, as that of a livelock or a spin. Then the
        /// run is ended soon after the step limit.
        is_endless: bool,
    },
}

/// The text of a request.
pub(super) fn request(exploration: &Exploration, mode: Mode<'_>, policies: &[String]) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &dyn Display| {
        writeln!(text, "{key}={value}").expect("memory takes every byte");
    };
    let strategies: Vec<&str> = exploration.strategy.iter().map(|s| s.as_str()).collect();
    let time = exploration.time_limit().map_or(0, |time| time.as_millis());
    line(
        "mode",
        &match mode {
            Mode::Explore => "explore",
            Mode::Replay { .. } => "replay",
        },
    );
    line("strategy", &strategies.join(","));
    line("preemptions", &exploration.preemptions);
    line("schedules", &exploration.schedules.unwrap_or(u64::MAX));
    line(
        "work",
        &format_args!("{:020}", exploration.work.unwrap_or(0)),
    );
    line("time-ms", &time);
    line("max-steps", &exploration.max_steps);
    line("seed", &exploration.seed);
    if words::are_scrambled() {
        line("words", &"scrambled");
    }
    line("memory", &exploration.memory);
    line("stale-loads", &exploration.stale_loads);
    line("memory-accesses", &exploration.memory_accesses);
    line("races", &exploration.races);
    line("spins", &exploration.spins);
    line("isolate", &exploration.isolate);
    line("backend", &exploration.backend);
    line("timers", &exploration.timers_explored());
    line("spurious", &exploration.spurious);
    line("faults", &Fault::list(&exploration.faults));
    line("watchdog-ms", &exploration.watchdog.as_millis());
    line("keep-going", &exploration.keep_going);
    if exploration.coverage {
        line("coverage", &true);
    }
    line("leaks", &exploration.leaks);
    line("allow-unjoined-panics", &exploration.allow_unjoined_panics);
    if let Mode::Replay {
        decisions,
        points,
        intended,
        is_endless,
    } = mode
    {
        if is_endless {
            line("endless", &true);
        }
        line("decisions", &decisions);
        for point in points {
            line("point", point);
        }
        for place in intended {
            line("intended", place);
        }
    }
    for policy in policies {
        text.push_str(policy);
        text.push('\n');
    }
    text
}

/// Further lines of a request: the interval between two checkpoints of the search, and whether
/// standard input has the state of an earlier search (after the number of cores). The lines have a
/// fixed length. The request lies in the memory of the program, whose layout must not depend on
/// whether the search resumes.
pub(super) fn saving(resume: bool) -> String {
    format!("save-ms={SAVE_MS}\nresume={}\n", u8::from(resume))
}

/// The moment at which a search pauses: after this work or this time, whichever comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pause {
    /// The work, including the work of earlier slices.
    pub(crate) work: u64,
    /// The time of this slice.
    pub(crate) time: Duration,
}

/// Further lines of a request: the work and the time after which the search stores its state and
/// pauses. `None` if it never pauses. The lines have a fixed length, as in [`saving`].
pub(super) fn pause(pause: Option<Pause>) -> String {
    let (work, time) = pause.map_or((0, 0), |it| (it.work, it.time.as_millis()));
    format!("pause={work:020}\npause-ms={time:020}\n")
}

/// A further line of a request: the time limit of one process of the search. This line has a fixed
/// length. It overrides an earlier line with the same key.
pub(super) fn time(time: Option<Duration>) -> String {
    let time = time.map_or(0, |time| time.as_millis());
    format!("time-ms={time:020}\n")
}

/// A further line of a request: the part of the test's schedules to explore.
pub(super) fn part(part: Option<Shard>) -> String {
    let (index, count) = part.map_or((1, 1), |part| (part.index(), part.count()));
    format!("part={index:05}/{count:05}\n")
}

/// Further lines of a request: the source lines before which tasks may be preempted. Preemptions
/// elsewhere are not allowed.
pub(super) fn preempt_at(places: &[String]) -> String {
    let lines = places.iter().map(|place| format!("preempt-at={place}\n"));
    lines.collect()
}

/// A further line of a request: the test's own directory for temporary files.
pub(super) fn scratch(path: &str) -> String {
    format!("scratch={path}\n")
}

/// The lines of a request that do not depend on the locations of packages.
pub(super) fn request_without_policies(exploration: &Exploration) -> String {
    request(exploration, Mode::Explore, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layer;

    #[test]
    fn a_request_says_everything_that_decides_the_exploration() {
        let exploration = Layer::default().resolve();
        let policies = ["policy=src=preempt".to_owned()];
        insta::assert_snapshot!(request(&exploration, Mode::Explore, &policies), @r"
        mode=explore
        strategy=auto
        preemptions=2
        schedules=18446744073709551615
        work=00000000000020000000
        time-ms=60000
        max-steps=20000
        seed=0
        memory=sc
        stale-loads=allow
        memory-accesses=watch
        races=deny
        spins=warn
        isolate=image
        backend=fibers
        timers=last-then-any
        spurious=any
        faults=
        watchdog-ms=60000
        keep-going=false
        leaks=false
        allow-unjoined-panics=false
        policy=src=preempt
        ");
    }

    #[test]
    fn a_replay_names_its_decisions() {
        let exploration = Layer::default().resolve();
        let mode = Mode::Replay {
            decisions: "0*12 1*3 ?1 0",
            points: &["src/lib.rs:12".to_owned()],
            intended: &["src/lib.rs:7".to_owned()],
            is_endless: true,
        };
        let text = request(&exploration, mode, &[]);
        assert!(text.starts_with("mode=replay\n"));
        assert!(text.ends_with(
            "\nendless=true\ndecisions=0*12 1*3 ?1 0\npoint=src/lib.rs:12\nintended=src/lib.rs:7\n"
        ));
    }
}
