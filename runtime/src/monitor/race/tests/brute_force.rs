//! The races of random programs, found by the monitor and by brute force.
//!
//! A sequence of programs runs on one monitor, as the executions of a search do. Their accesses
//! have all sizes and offsets, and lie in stacks, in blocks of the heap and in other memory; see
//! [`program`]. They are made in the same way as by the hooks and the shims: see [`machine`]. A
//! program is repeated while the monitor misses accesses to stacks. Brute force ([`model`]) has
//! for each task the set of the steps that happened before, and a list of all accesses. It has no
//! code in common with the monitor.
//!
//! The test compares:
//! - whether there is a race;
//! - each report: brute force finds a race of two accesses with these lines, kinds and tasks;
//! - each byte: its first race is reported, unless the monitor has no room for further reports;
//! - each access to memory that is not live: it reaches the heap's monitor;
//! - the number of repetitions: at most one for each page of a stack, and one more.
//!
//! The test does not compare:
//! - the later races of a byte, of which the monitor finds only some;
//! - a race of a free with the allocation of its block: the monitor finds it only if the block was
//!   accessed;
//! - the missing order that a report names;
//! - atomic accesses of different sizes to common bytes: neither side counts them as races;
//! - [`Races::release_on`], which by design also orders accesses after the release.

mod machine;
mod model;
mod program;
mod random;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::execution::How;
use machine::{Machine, sites};
use model::{Access, Race, Use};
use program::{Act, Kind, Program, Region, State};

/// The programs of one monitor.
#[derive(Clone, Debug)]
struct Sequence {
    seed: u64,
    programs: Vec<Program>,
}

impl Sequence {
    fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let live = random::first_blocks(&mut rng);
        let mut programs = Vec::new();
        // A search may first restore a memory image, and later use one process for each execution.
        let images = rng.below(2 * LENGTH);
        for number in 0..LENGTH {
            let is_put_back = number < images;
            programs.push(Program::random(&mut rng, is_put_back, live));
        }
        Self { seed, programs }
    }

    /// Runs the programs. Returns the number of programs with a race, or the first difference
    /// between the monitor and brute force.
    fn check(&self) -> Result<usize, String> {
        let mut rng = Rng::new(self.seed);
        let mut machine = Machine::new(&mut rng);
        let check = || {
            let mut racy = 0;
            for (number, program) in self.programs.iter().enumerate() {
                let is_racy = check(&mut machine, program);
                racy += usize::from(is_racy.map_err(|error| format!("program {number}: {error}"))?);
            }
            Ok(racy)
        };
        catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|_| Err("a panic".into()))
    }

    /// Removes programs and steps, if there still is a difference without them.
    fn shrink(&mut self) {
        let mut has_shrunk = true;
        while has_shrunk {
            has_shrunk = false;
            for at in (0..self.programs.len()).rev() {
                has_shrunk |= self.try_out(|smaller| _ = smaller.programs.remove(at));
            }
            for program in 0..self.programs.len() {
                for at in (0..self.programs[program].steps.len()).rev() {
                    has_shrunk |= self.try_out(|smaller| {
                        let program = &mut smaller.programs[program];
                        if at < program.steps.len() {
                            program.steps.remove(at);
                            program.retain_possible();
                        }
                    });
                }
            }
        }
    }

    /// Makes a change, if it removes something and there still is a difference after it.
    fn try_out(&mut self, change: impl FnOnce(&mut Self)) -> bool {
        let size = |it: &Self| {
            let steps = it.programs.iter().map(|it| it.steps.len());
            it.programs.len() + steps.sum::<usize>()
        };
        let mut smaller = self.clone();
        change(&mut smaller);
        let is_better = size(&smaller) < size(self) && smaller.check().is_err();
        if is_better {
            *self = smaller;
        }
        is_better
    }
}

/// Runs a program as often as the engine does, and compares its last execution with brute force.
/// Returns whether it has a race.
fn check(machine: &mut Machine, program: &Program) -> Result<bool, String> {
    for _ in 0..=pages_of_stacks(program) {
        let is_stopped = machine.run(program);
        if machine.races.given_up.is_some() {
            return Err("the monitor has given up".into());
        }
        if !machine.races.misses_accesses() {
            let mut state = State::new(program);
            let has_wrong = program.steps.iter().any(|step| {
                state.make(step);
                state.is_over
            });
            if has_wrong != is_stopped {
                return Err(format!(
                    "an access to free memory: {has_wrong}, stopped: {is_stopped}"
                ));
            }
            return compare(machine, &model::races(program));
        }
    }
    Err("there is no end of repetitions".into())
}

/// The number of pages of stacks that a program accesses.
fn pages_of_stacks(program: &Program) -> usize {
    let mut pages = HashSet::new();
    for step in &program.steps {
        if let Act::Access(bytes, ..) | Act::Atomic(bytes, ..) = step.act
            && let Region::Stack(_) = bytes.region
        {
            pages.extend(bytes.start / PAGE..=(bytes.end() - 1) / PAGE);
        }
    }
    pages.len()
}

fn compare(machine: &Machine, races: &[Race]) -> Result<bool, String> {
    /// The maximum number of reports of an execution.
    const MOST: usize = 16;
    let lines = sites();
    let reports: Vec<_> = machine.races.found(Level::Deny).collect();
    let line_of = |site: Option<Site>| lines.iter().position(|&line| Some(line) == site);
    let mut pairs = HashSet::new();
    for report in &reports {
        let [earlier, later] = report.sites().map(line_of);
        let words = String::from_utf8_lossy(report.words());
        let is_real = races.iter().any(|race| {
            (race.earlier.known_line(), race.later.known_line()) == (earlier, later)
                && describes(&words, race)
        });
        if !is_real {
            return Err(format!("no race: {words}"));
        }
        pairs.extend([(earlier, later), (later, earlier)]);
    }
    let is_racy = races.iter().any(|race| !race.is_optional);
    if is_racy == reports.is_empty() {
        return Err(format!("racy: {is_racy}, reports: {}", reports.len()));
    }
    for race in races {
        let Some(first) = race.first.filter(|_| reports.len() < MOST) else {
            continue;
        };
        let is_reported = races.iter().any(|other| {
            other.later.step == race.later.step
                && (other.common.0..other.common.1).contains(&first)
                && pairs.contains(&(other.earlier.known_line(), other.later.known_line()))
        });
        if !is_reported {
            let (earlier, later) = (race.earlier, race.later);
            return Err(format!(
                "not reported: {earlier:?} with {later:?} at {first:#x}"
            ));
        }
    }
    Ok(is_racy)
}

/// Whether a report names the kinds and the tasks of both accesses.
fn describes(words: &str, race: &Race) -> bool {
    let Some((later, earlier)) = words.split_once(" races with ") else {
        return false;
    };
    names(later, race.later) && names(earlier, race.earlier)
}

fn names(words: &str, access: Access) -> bool {
    let task = match access.task {
        0 => "main".into(),
        number => format!("task {number}"),
    };
    let kinds: &[&str] = match access.by {
        Use::Plain(Kind::Read) => &["read"],
        Use::Plain(Kind::Write) => &["write"],
        Use::Plain(Kind::Update) => &["read", "write"],
        Use::Plain(Kind::Borrow) => &["shared borrow"],
        Use::Plain(Kind::BorrowMut) => &["unique borrow"],
        Use::Atomic(How::Load) => &["atomic load"],
        Use::Atomic(How::Store) => &["atomic store"],
        Use::Atomic(How::Exchange) => &["atomic fetch_add"],
        Use::Allocation => &["allocation of its block"],
        Use::Free => &["free"],
        Use::StackEnd => &["free of its stack"],
    };
    let place = access.known_line().map_or("", |_| " at ");
    let is = |kind: &&str| words.starts_with(&format!("the {kind} by {task}{place}"));
    kinds.iter().any(is)
}

/// The number of programs of a sequence.
const LENGTH: u64 = 10;

/// The seeds of the sequences. The environment variable `CHESS_PROGRAMS` sets the number of the
/// programs in all sequences.
fn seeds() -> std::ops::Range<u64> {
    const USUAL: u64 = 20_000;
    let asked = std::env::var("CHESS_PROGRAMS");
    let programs = asked.map_or(USUAL, |text| {
        text.parse().expect("CHESS_PROGRAMS is a number")
    });
    0..programs.div_ceil(LENGTH)
}

#[test]
fn a_race_is_found_if_and_only_if_there_is_one_in_random_programs() {
    let (mut racy, mut programs) = (0, 0);
    for seed in seeds() {
        let mut sequence = Sequence::random(seed);
        match sequence.check() {
            Ok(found) => racy += found,
            Err(error) => {
                let mode = Machine::new(&mut Rng::new(seed)).mode;
                sequence.shrink();
                let smaller = sequence.check().unwrap_err();
                panic!(
                    "seed {seed}, {mode:?}: {error}\n{smaller}: {:#?}",
                    sequence.programs
                );
            }
        }
        programs += sequence.programs.len();
    }
    println!("{racy} of {programs} programs have a race");
    assert!(
        racy * 4 > programs && racy * 4 < programs * 3,
        "there are both kinds"
    );
}
