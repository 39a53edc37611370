//! The outcomes of random programs under the tool are those that an enumerator finds from std's
//! documentation.
//!
//! `end_to_end::enumerator` implements each operation by its documentation and visits all
//! interleavings. `fixtures/enumerated` runs the same programs on real threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use end_to_end::Workspace;
use end_to_end::enumerator::{Kind, Op, Outcomes, Program, enumerate, random_program, shrink};
use serde_json::Value;

/// Kinds of objects on which the tool and the documentation do not agree yet.
const NOT_YET: &[Kind] = &[];

/// Programs with more states than this are left out, because their enumeration takes too long.
const STATES: usize = 20_000;

/// The number of programs that one call of the tool explores.
const BATCH: usize = 500;

/// Returns the number of programs: the environment variable `CHESS_PROGRAMS`, or a default.
fn programs() -> usize {
    const USUAL: usize = 2_000;
    let asked = std::env::var("CHESS_PROGRAMS");
    asked.map_or(USUAL, |text| {
        text.parse().expect("CHESS_PROGRAMS is a number")
    })
}

/// Returns the kinds of objects: those in the environment variable `CHESS_KINDS` (`Mutex,Stdio`),
/// or all kinds on which the tool and the documentation agree.
fn kinds() -> Vec<Kind> {
    let Ok(names) = std::env::var("CHESS_KINDS") else {
        let all = Kind::ALL.into_iter();
        return all.filter(|kind| !NOT_YET.contains(kind)).collect();
    };
    let kind_of = |name: &str| {
        let mut all = Kind::ALL.into_iter();
        all.find(|kind| format!("{kind:?}") == name)
            .unwrap_or_else(|| panic!("CHESS_KINDS: no kind is called {name}"))
    };
    names.split(',').map(kind_of).collect()
}

/// A search, by the executions that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// All schedules with at most this number of preemptions.
    Bounded(usize),
    /// All schedules, by this strategy.
    All(&'static str),
    /// All executions under this memory model. The atomics of the programs are sequentially
    /// consistent, so that the outcomes are those of the interleavings, unless an operation
    /// [orders nothing](orders_nothing).
    Weak(&'static str),
}

/// Whether the result of the operation may depend on another operation, although the two
/// operations are not ordered. std documents no order for attempts that fail, for counts, for
/// `is_finished`, and for files. The ordering with which C code accesses an atomic is not known.
fn orders_nothing(op: &Op) -> bool {
    matches!(
        op,
        Op::StrongCount
            | Op::Upgrade(_)
            | Op::IsFinished(_)
            | Op::IsPoisoned(_)
            | Op::TryLock(..)
            | Op::TryRead(..)
            | Op::TryWrite(..)
            | Op::TrySend(_)
            | Op::TryRecv(_)
            | Op::SealedTry(..)
            | Op::FileTryLock(..)
            | Op::FileTryLockShared(..)
            | Op::CTryLock(..)
            | Op::CTryRead(..)
            | Op::CTryWrite(..)
            | Op::CStoreAt(..)
            | Op::CAddAt(..)
    )
}

impl Search {
    /// Returns the searches with which the programs of the batch are explored: those in the
    /// environment variable `CHESS_SEARCHES` (`1,dpor,delay`; a number is a bound), or a default,
    /// in which each batch has one of three bounds.
    fn of_batch(batch: usize) -> Vec<Self> {
        let names = std::env::var("CHESS_SEARCHES");
        let names = names.unwrap_or_else(|_| format!("{},icb,dpor,auto,c11", batch % 3));
        let search = |name: &str| match (name.parse(), name) {
            (Ok(bound), _) => Self::Bounded(bound),
            (_, "icb") => Self::All("icb"),
            (_, "dpor") => Self::All("dpor"),
            (_, "auto") => Self::All("auto"),
            (_, "delay") => Self::All("delay"),
            (_, "c11") => Self::Weak("c11"),
            (_, "tso") => Self::Weak("tso"),
            _ => panic!("CHESS_SEARCHES: there is no search {name}"),
        };
        names.split(',').map(search).collect()
    }

    fn arguments(self) -> Vec<String> {
        match self {
            Self::Bounded(bound) => {
                vec!["--strategy=icb".into(), format!("--preemptions={bound}")]
            }
            Self::All("icb") => vec!["--strategy=icb".into(), "--preemptions=99".into()],
            Self::All(strategy) => vec![format!("--strategy={strategy}")],
            Self::Weak(model) => vec!["--strategy=dpor".into(), format!("--memory={model}")],
        }
    }

    fn expected(self, outcomes: &Outcomes) -> Outcomes {
        match self {
            Self::Bounded(bound) => outcomes.up_to(bound),
            Self::All(_) | Self::Weak(_) => outcomes.clone(),
        }
    }
}

/// The result of the tool for one program.
#[derive(Debug, Default)]
struct Found {
    ends: BTreeSet<String>,
    deadlocks: bool,
    /// Whether the search completed.
    whole: bool,
    /// Failures other than deadlocks. They are no outcomes of programs.
    others: Vec<String>,
}

impl Found {
    /// Returns a description of the difference from the expected outcomes of `program`. Returns
    /// `None` if there is no difference.
    fn differs(&self, program: &Program, search: Search, known: &Outcomes) -> Option<String> {
        let expected = search.expected(known);
        let mut text = String::new();
        for other in &self.others {
            _ = writeln!(text, "  failed: {other}");
        }
        let allowed: BTreeSet<_> = expected.ends.keys().cloned().collect();
        let has_more = matches!(search, Search::Weak(_)) && program.has(&orders_nothing);
        for end in self.ends.difference(&allowed).filter(|_| !has_more) {
            _ = writeln!(text, "  not possible: {end}");
        }
        if self.deadlocks && expected.deadlock.is_none() && !has_more {
            text.push_str("  not possible: a deadlock\n");
        }
        if self.whole {
            for end in allowed.difference(&self.ends) {
                let fewest = expected.ends[end];
                _ = writeln!(text, "  missing, with {fewest} preemptions: {end}");
            }
            if let (Some(fewest), false) = (expected.deadlock, self.deadlocks) {
                _ = writeln!(text, "  missing, with {fewest} preemptions: a deadlock");
            }
        }
        Some(text).filter(|text| !text.is_empty())
    }
}

/// A copy of the fixture whose tests are some programs.
struct Bench {
    workspace: Workspace,
    /// Whether the searches may leave out redundant schedules.
    reduced: bool,
}

impl Bench {
    const SCHEDULES: u64 = 20_000;

    fn new(reduced: bool) -> Self {
        Self {
            workspace: Workspace::copy_of("enumerated"),
            reduced,
        }
    }

    fn write<'a>(&self, programs: impl IntoIterator<Item = &'a Program>) {
        let mut tests = "use enumerated::{Op::*, run};\n".to_owned();
        let begin = if self.reduced {
            ""
        } else {
            "enumerated::without_reduction(); "
        };
        for (at, program) in programs.into_iter().enumerate() {
            let program = program.expression();
            _ = write!(
                tests,
                "\n#[test]\nfn p{at}() {{\n    {begin}run(\"p{at}\", {program});\n}}\n"
            );
        }
        self.workspace.write("tests/programs.rs", &tests);
    }

    /// Returns the result of the search for each of the programs in the copy.
    fn explore(&self, search: Search) -> BTreeMap<usize, Found> {
        let outcomes = self.workspace.root().join("outcomes");
        _ = fs::remove_dir_all(&outcomes);
        fs::create_dir(&outcomes).expect("it can be made");
        let common = ["test", "--keep-going", "--no-fail-fast", "--spurious=never"];
        let schedules = format!("--schedules={}", Self::SCHEDULES);
        let own = search.arguments();
        let mut arguments = common.to_vec();
        arguments.extend([&*schedules, "--message-format=json"]);
        arguments.extend(own.iter().map(String::as_str));
        let run = self.workspace.chess(&arguments).run();
        assert!(matches!(run.code, Some(0 | 100)), "{run:?}");
        let verdicts = run.verdicts();
        let found = verdicts.iter().map(|verdict| {
            let name = verdict["test"].as_str().expect("it has a name");
            let mut found = Found::of(verdict);
            if let Ok(text) = fs::read_to_string(outcomes.join(name)) {
                found.ends = text.lines().map(str::to_owned).collect();
            }
            (name[1..].parse().expect("a number"), found)
        });
        found.collect()
    }

    /// Returns each program for which the result of a search differs from the expected outcomes,
    /// with this search.
    fn faults(
        &self,
        batch: &[(Program, Outcomes)],
        searches: Vec<Search>,
    ) -> Vec<(Program, Search)> {
        self.write(batch.iter().map(|(program, _)| program));
        let mut faults = Vec::new();
        for search in searches {
            let found = self.explore(search);
            assert_eq!(found.len(), batch.len());
            let whole = found.values().filter(|found| found.whole).count();
            assert!(whole * 20 >= found.len() * 19, "too few came to an end");
            for (at, (program, known)) in batch.iter().enumerate() {
                if found[&at].differs(program, search, known).is_some() {
                    faults.push((program.clone(), search));
                }
            }
        }
        faults
    }

    /// Explores one program. Returns a description of the difference from the expected outcomes,
    /// or `None` if there is no difference.
    fn fault(&self, program: &Program, search: Search) -> Option<String> {
        let known = enumerate(program, STATES)?;
        self.write([program]);
        self.explore(search)[&0].differs(program, search, &known)
    }

    /// Describes three of the faults. Each one is described by the smallest program that shows it.
    fn report(&self, mut faults: Vec<(Program, Search)>) -> String {
        let mut text = format!("{} faults, of which\n", faults.len());
        faults.sort_by_key(|(program, _)| program.text().len());
        for (program, search) in faults.into_iter().take(3) {
            let mut fails = |less: &Program| self.fault(less, search).is_some();
            let program = shrink(program, &mut fails);
            let what = self.fault(&program, search);
            let what = what.unwrap_or_else(|| "  gone at the second look\n".to_owned());
            _ = write!(text, "{search:?}\n{}{what}\n", program.text());
        }
        text
    }
}

impl Found {
    fn of(verdict: &Value) -> Self {
        let mut found = Self::default();
        let others = verdict["other_failures"].as_array();
        let failures = [verdict].into_iter().chain(others.into_iter().flatten());
        for failure in failures.filter(|failure| failure["kind"].is_string()) {
            if failure["kind"] == "deadlock" {
                found.deadlocks = true;
            } else {
                found.others.push(format!("{failure}"));
            }
        }
        if verdict["outcome"] != "passed" && verdict["kind"].is_null() {
            found.others.push(format!("{verdict}"));
        }
        let schedules = verdict["schedules"].as_u64().unwrap_or_default();
        found.whole = schedules < Bench::SCHEDULES || verdict["complete"] == true;
        found
    }
}

/// Returns programs for which a search once missed an outcome. Random programs are rarely like
/// these.
fn wrong_once() -> Vec<Program> {
    use Op::{
        CLock, CRead, CTryWrite, CWrite, Downgrade, Lock, Read, Sealed, SealedTry, SemPost,
        SemTryWait, SemWait, SocketRead, SocketTryRead, SocketWrite, TryRead, TryWrite, Write,
    };
    // After an opaque call, each step counts as an additional access to the state of opaque code.
    // Such accesses under the lock hid the race between the two tasks that acquire it.
    let one_waits = [
        vec![],
        vec![Lock(0, vec![Sealed(0, vec![])])],
        vec![Sealed(0, vec![]), Lock(0, vec![])],
    ];
    let one_is_blocked_at_the_end = [
        vec![Lock(0, vec![Sealed(1, vec![])])],
        vec![SealedTry(1, vec![Lock(0, vec![])])],
    ];
    // As above, for a lock and a semaphore of C code.
    let each_is_blocked_at_the_end = [
        vec![CLock(1, vec![Sealed(0, vec![])])],
        vec![Sealed(0, vec![CLock(1, vec![])])],
    ];
    let each_waits_for_a_unit = [
        vec![SemWait(0), Sealed(0, vec![]), SemPost(0)],
        vec![Sealed(0, vec![SemWait(0), SemPost(0)])],
    ];
    // The last task waits, until a post or a write ends its wait. This hid the race of its wait
    // with the attempts of the other tasks.
    let one_wait_hides_a_race = [
        vec![SemTryWait(0)],
        vec![SemTryWait(0), SemPost(0)],
        vec![SemWait(0)],
    ];
    let one_read_hides_a_race = [
        vec![SocketTryRead(0)],
        vec![SocketTryRead(0), SocketWrite(0)],
        vec![SocketRead(0)],
    ];
    // While a task waits to write, other tasks cannot read, although the lock is free.
    let one_cannot_enter_again = [
        vec![TryWrite(0, vec![])],
        vec![Downgrade(0, vec![])],
        vec![TryRead(0, vec![]), TryRead(0, vec![]), TryWrite(0, vec![])],
    ];
    let one_is_kept_out_for_ever = [
        vec![Downgrade(1, vec![])],
        vec![Downgrade(0, vec![Read(1, vec![])])],
        vec![Read(1, vec![Write(0, vec![])])],
    ];
    // A task that found the lock taken was also thought to take the lock first.
    let one_finds_it_taken = [
        vec![CRead(0, vec![])],
        vec![CTryWrite(1, vec![CRead(0, vec![])])],
        vec![CTryWrite(0, vec![CWrite(1, vec![])]), CTryWrite(0, vec![])],
    ];
    let tasks = [
        &one_waits[..],
        &one_is_blocked_at_the_end,
        &each_is_blocked_at_the_end,
        &each_waits_for_a_unit,
        &one_wait_hides_a_race,
        &one_read_hides_a_race,
        &one_cannot_enter_again,
        &one_is_kept_out_for_ever,
        &one_finds_it_taken,
    ];
    let program = |tasks: &[Vec<Op>]| Program {
        tasks: tasks.to_vec(),
    };
    tasks.map(program).into()
}

#[test]
fn the_tool_finds_the_behaviour_that_the_documentation_allows() {
    let kinds = kinds();
    // The number of the first random program, which can be set to test other programs than CI does.
    let first = std::env::var("CHESS_FIRST").map_or(0, |text| text.parse().expect("a number"));
    // A fault that remains with `CHESS_REDUCTION=off` is not a fault of the reduction.
    let reduced = std::env::var("CHESS_REDUCTION").as_deref() != Ok("off");
    let bench = Bench::new(reduced);
    let random = (first..).map(|seed| random_program(seed, &kinds));
    let mut all = wrong_once().into_iter().chain(random);
    let mut left = programs();
    let mut number = 0;
    while left > 0 {
        let batch: Vec<_> = all
            .by_ref()
            .filter_map(|program| enumerate(&program, STATES).map(|known| (program, known)))
            .take(left.min(BATCH))
            .collect();
        left -= batch.len();
        let faults = bench.faults(&batch, Search::of_batch(number));
        assert!(faults.is_empty(), "{}", bench.report(faults));
        number += 1;
    }
}
