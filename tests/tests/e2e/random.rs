//! The search is compared with a model. On small random programs, it finds exactly the failures
//! that an enumeration of all schedules predicts, with the fewest possible preemptions.

#[path = "../../../fixtures/random/src/lib.rs"]
#[expect(unreachable_pub, reason = "there it is a library")]
mod programs;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;

use end_to_end::Workspace;
use programs::{LOCKS, NOTHING, Op, Program, VARIABLES, outcome, program};

/// The number of programs in the fixture.
const PROGRAMS: u64 = 60;
/// The bound up to which the programs are explored.
const BOUND: usize = 4;

/// A step of a task in the model. A switch can happen before each step.
#[derive(Clone, Copy)]
enum Step {
    Perform(Op),
    Spawn,
    Join(usize),
    Exit,
}

/// A state of the model. Equal states have the same future.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// The index of the next step of each started task.
    next: Vec<usize>,
    exited: Vec<bool>,
    current: usize,
    variables: [u8; VARIABLES],
    owners: [Option<usize>; LOCKS],
    messages: VecDeque<u8>,
    notes: Vec<Vec<u8>>,
}

/// Returns the steps of every task. The first task starts the others and waits for them.
fn steps(program: &Program) -> Vec<Vec<Step>> {
    let others = 1..program.len();
    program
        .iter()
        .enumerate()
        .map(|(task, ops)| {
            let first = task == 0;
            let spawns = others.clone().filter(|_| first).map(|_| Step::Spawn);
            let joins = others.clone().filter(|_| first).map(Step::Join);
            let performs = ops.iter().copied().map(Step::Perform);
            spawns
                .chain(performs)
                .chain(joins)
                .chain([Step::Exit])
                .collect()
        })
        .collect()
}

impl State {
    fn first(tasks: usize) -> Self {
        Self {
            next: vec![0],
            exited: vec![false; tasks],
            current: 0,
            variables: [0; VARIABLES],
            owners: [None; LOCKS],
            messages: VecDeque::new(),
            notes: vec![Vec::new(); tasks],
        }
    }

    fn is_enabled(&self, task: usize, steps: &[Vec<Step>]) -> bool {
        if self.exited[task] {
            return false;
        }
        match steps[task][self.next[task]] {
            Step::Perform(Op::Lock(lock)) => self.owners[lock].is_none(),
            Step::Perform(Op::Receive) => !self.messages.is_empty(),
            Step::Join(other) => self.exited[other],
            Step::Perform(_) | Step::Spawn | Step::Exit => true,
        }
    }

    fn enabled(&self, steps: &[Vec<Step>]) -> Vec<usize> {
        (0..self.next.len())
            .filter(|&task| self.is_enabled(task, steps))
            .collect()
    }

    /// Returns the state after a step of `task`.
    fn after(&self, task: usize, steps: &[Vec<Step>]) -> Self {
        let mut state = self.clone();
        state.current = task;
        state.next[task] += 1;
        match steps[task][self.next[task]] {
            Step::Perform(op) => state.perform(task, op),
            Step::Spawn => state.next.push(0),
            Step::Join(_) => {}
            Step::Exit => state.exited[task] = true,
        }
        state
    }

    fn perform(&mut self, task: usize, op: Op) {
        let note = match op {
            Op::Load(at) => Some(self.variables[at]),
            Op::Add(at) => {
                self.variables[at] = self.variables[at].wrapping_add(1);
                Some(self.variables[at].wrapping_sub(1))
            }
            Op::Exchange(at, from, to) => {
                let done = self.variables[at] == from;
                if done {
                    self.variables[at] = to;
                }
                Some(u8::from(done))
            }
            Op::TryLock(at) => {
                let free = self.owners[at].is_none();
                if free {
                    self.owners[at] = Some(task);
                }
                Some(u8::from(free))
            }
            Op::Receive | Op::TryReceive => Some(self.messages.pop_front().unwrap_or(NOTHING)),
            Op::Store(at, value) => {
                self.variables[at] = value;
                None
            }
            Op::Lock(at) => {
                self.owners[at] = Some(task);
                None
            }
            Op::Unlock(at) => {
                if self.owners[at] == Some(task) {
                    self.owners[at] = None;
                }
                None
            }
            Op::Send(value) => {
                self.messages.push_back(value);
                None
            }
        };
        self.notes[task].extend(note);
    }
}

/// The outcomes of a program, each with its fewest preemptions. `None` is a deadlock.
type Ends = BTreeMap<Option<String>, usize>;

/// Returns every outcome of a program, by a search over states in ascending order of preemptions.
fn ends(program: &Program) -> Ends {
    let steps = steps(program);
    let mut ends = Ends::new();
    let mut costs = HashMap::new();
    let mut open = VecDeque::from([(0, State::first(program.len()))]);
    while let Some((cost, state)) = open.pop_front() {
        if costs.get(&state).is_some_and(|known| *known <= cost) {
            continue;
        }
        let enabled = state.enabled(&steps);
        if enabled.is_empty() {
            let finished = state.exited.iter().all(|exited| *exited);
            let end = finished.then(|| outcome(&state.notes, &state.variables));
            ends.entry(end).or_insert(cost);
        }
        let preempts = enabled.contains(&state.current);
        for task in enabled {
            let next = state.after(task, &steps);
            if preempts && task != state.current {
                open.push_back((cost + 1, next));
            } else {
                open.push_front((cost, next));
            }
        }
        costs.insert(state, cost);
    }
    ends
}

/// The expected results of a program whose test panics if its outcome is `target`.
struct Prediction {
    target: String,
    /// The fewest preemptions of a deadlock, or `None` if there is none.
    deadlock: Option<usize>,
    /// The fewest preemptions of the target, or `None` if it is impossible.
    panic: Option<usize>,
}

/// Predicts the results of a program. The target is the outcome within [`BOUND`] that needs the
/// most preemptions. Every fourth program has an impossible target instead.
fn predict(number: u64) -> Prediction {
    let ends = ends(&program(number));
    let deadlock = ends.get(&None).copied();
    let outcomes = ends
        .iter()
        .filter_map(|(end, cost)| Some((end.clone()?, *cost)));
    let hardest = outcomes
        .filter(|(_, cost)| *cost <= BOUND)
        .max_by_key(|(_, cost)| *cost);
    match hardest {
        Some((target, cost)) if number % 4 != 3 => Prediction {
            target,
            deadlock,
            panic: Some(cost),
        },
        _ => Prediction {
            target: "none".to_owned(),
            deadlock,
            panic: None,
        },
    }
}

fn assert_predicted(backend: &str) {
    let predictions: Vec<_> = (0..PROGRAMS).map(predict).collect();
    let mut targets = String::new();
    for (number, prediction) in predictions.iter().enumerate() {
        writeln!(targets, "{number}={}", prediction.target).expect("memory takes every byte");
    }
    let workspace = Workspace::shared("random");
    let bound = BOUND.to_string();
    let args = [
        "test",
        "--no-fail-fast",
        "--message-format",
        "json",
        "--preemptions",
        &bound,
    ];
    let run = workspace
        .chess(&args)
        .arg("--backend")
        .arg(backend)
        .arg("--strategy")
        .arg("icb")
        .env("TARGETS", targets)
        .run();
    run.assert_code(100);
    let mut differences = Vec::new();
    for verdict in run.verdicts() {
        let number: usize = verdict["test"].as_str().unwrap()[1..].parse().unwrap();
        let Prediction {
            target,
            deadlock,
            panic,
        } = &predictions[number];
        let fewest = deadlock
            .iter()
            .chain(panic)
            .min()
            .copied()
            .filter(|fewest| *fewest <= BOUND);
        let possible = |kind: &str| match kind {
            "deadlock" => *deadlock == fewest,
            "panic" => *panic == fewest,
            _ => false,
        };
        let kind = verdict["kind"].as_str();
        let found = verdict["preemptions"]
            .as_u64()
            .map(|count| usize::try_from(count).unwrap());
        let is_complete = verdict["complete"] == true || verdict["bound_completed"] == BOUND;
        let as_predicted = match kind {
            Some(kind) => possible(kind) && found == fewest,
            None => fewest.is_none() && is_complete,
        };
        if !as_predicted {
            differences.push(format!(
                "{:?}\n  target {target}: deadlock {deadlock:?}, panic {panic:?} predicted; {verdict}",
                program(number as u64),
            ));
        }
    }
    assert_eq!(run.verdicts().len(), predictions.len());
    assert!(
        differences.is_empty(),
        "{}:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn random_programs_end_as_the_model_says_on_fibers() {
    assert_predicted("fibers");
}

#[test]
fn random_programs_end_as_the_model_says_on_threads() {
    assert_predicted("threads");
}

#[test]
fn the_model_aims_at_failures_of_every_depth() {
    let mut depths = BTreeMap::new();
    for number in 0..PROGRAMS {
        let Prediction {
            deadlock, panic, ..
        } = predict(number);
        *depths
            .entry(deadlock.into_iter().chain(panic).min())
            .or_insert(0) += 1;
    }
    for depth in [None, Some(0), Some(1), Some(2), Some(3), Some(4)] {
        assert!(
            depths.get(&depth).is_some_and(|count| *count >= 2),
            "{depths:?}"
        );
    }
}
