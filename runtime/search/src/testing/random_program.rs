//! Random programs for the comparison of searches.

use std::collections::VecDeque;

use super::{Act, BOUNDED, Program};
use crate::base::rng::Rng;

/// The seeds of the random programs on which searches are compared with brute force. The
/// environment variable `CHESS_PROGRAMS` sets the number of seeds, and `CHESS_FIRST` the first
/// one.
pub fn seeds() -> std::ops::Range<u64> {
    let number = |variable| {
        let asked = std::env::var(variable).ok()?;
        let number = asked.parse::<u64>();
        Some(number.unwrap_or_else(|_| panic!("{variable} is a number")))
    };
    let first = number("CHESS_FIRST").unwrap_or(0);
    first..first + number("CHESS_PROGRAMS").unwrap_or(2_000)
}

/// The number of kinds of objects.
const KINDS: u64 = 14;

/// A program of two to four tasks that is small enough for brute force.
pub fn random_program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut below = |n: u64| rng.below(n) as u32;
    let tasks = 2 + below(3);
    // Programs with few kinds of objects have more races.
    let kinds: Vec<u32> = (0..=below(3)).map(|_| below(KINDS)).collect();
    let longest = [0, 0, 6, 4, 3][tasks as usize];
    let mut program = Program::new();
    for own in 0..tasks {
        let mut acts = VecDeque::new();
        let length = 1 + below(longest) as usize;
        while acts.len() < length {
            let which = below(2);
            match kinds[below(kinds.len() as u64) as usize] {
                0 => acts.push_back(Act::Load(which)),
                1 => acts.push_back(match below(4) {
                    0 => Act::Store(which, 1 + u64::from(own)),
                    1 => Act::Add(which),
                    2 => Act::Swap(which, u64::from(below(3)), below(2) == 0),
                    _ => Act::Exchange(which, u64::from(below(2)), 1 + u64::from(own)),
                }),
                2 => {
                    let inner = below(3);
                    acts.push_back(if below(4) == 0 {
                        Act::TryLock(which)
                    } else {
                        Act::Lock(which)
                    });
                    match inner {
                        0 => acts.push_back(Act::Add(which)),
                        1 => {
                            acts.push_back(Act::Lock(1 - which));
                            acts.push_back(Act::Unlock(1 - which));
                        }
                        _ => {}
                    }
                    acts.push_back(Act::Unlock(which));
                }
                3 => {
                    acts.push_back(Act::Lock(which));
                    acts.push_back(match below(3) {
                        0 => Act::Wait(which, which),
                        1 => Act::NotifyOne(which),
                        _ => Act::NotifyAll(which),
                    });
                    acts.push_back(Act::Unlock(which));
                }
                4 => acts.push_back(message(which + BOUNDED * below(2), &mut below)),
                5 => acts.push_back(if below(2) == 0 {
                    Act::Unpark(below(tasks.into()))
                } else {
                    Act::Park
                }),
                6 => {
                    acts.push_back(Act::Read(which + 2));
                    match below(6) {
                        0..=2 => acts.push_back(Act::Load(which)),
                        3 => {
                            acts.push_back(Act::Read(which + 2));
                            acts.push_back(Act::EndRead(which + 2));
                        }
                        4 => acts.push_back(match below(2) {
                            0 => Act::Send(which),
                            _ => Act::Recv(which),
                        }),
                        _ => {}
                    }
                    acts.push_back(Act::EndRead(which + 2));
                    if below(3) == 0 {
                        acts.push_back(Act::Lock(which + 2));
                        acts.push_back(Act::Unlock(which + 2));
                    }
                }
                7 => match below(6) {
                    0 => acts.push_back(Act::GiveWay),
                    1 => acts.extend([Act::Yield; 3].iter().take(1 + below(3) as usize)),
                    2 => acts.push_back(Act::Spin(which, 2 + below(5))),
                    3 => acts.push_back(Act::Add(which)),
                    4 => acts.push_back(Act::Await(which, which)),
                    _ => acts.push_back(Act::Await(which, 1 - which)),
                },
                9 => add_section(&mut acts, which + 2, &mut below),
                10 => acts.extend(initialisation(which, &mut below)),
                11 => acts.push_back(Act::Barrier(which)),
                12 => acts.push_back(owner(which, &mut below)),
                13 => acts.push_back(Act::IsFinished(below(tasks.into()))),
                _ => {
                    acts.push_back(match below(2) {
                        0 => Act::Choose(2),
                        _ => Act::Load(which),
                    });
                    acts.push_back(Act::SkipUnlessSeen(1));
                    acts.push_back(Act::Store(which, 3));
                }
            }
        }
        program.push(acts.into());
    }
    add_idle_steps(&mut program, &mut rng);
    program
}

/// As [`random_program`], but its tasks also choose within their steps, and have assumptions.
pub fn random_choices(seed: u64) -> Program {
    let mut program = random_program(seed);
    let mut rng = Rng::new(!seed);
    for acts in &mut program {
        for _ in 0..rng.below(3) {
            let place = rng.below(1 + acts.len() as u64) as usize;
            let own = [Act::SkipUnlessSeen(1), Act::Add(rng.below(2) as u32)];
            let chosen = match rng.below(6) {
                0 => vec![Act::Pick(2), Act::Assume],
                1 => [&[Act::Pick(2), Act::Pick(2)], &own[..]].concat(),
                2 => [&[Act::Pick(3)], &own[..]].concat(),
                3 => [&[Act::Rarely], &own[..]].concat(),
                4 => vec![Act::Rarely],
                _ => vec![Act::Assume],
            };
            acts.splice(place..place, chosen);
        }
    }
    program
}

/// A program of three or four tasks with few values, and with steps whose later operations depend
/// on the results of earlier operations of the step.
pub fn random_long_steps(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let tasks = 3 + rng.below(2);
    let mut acts = |own: u64| {
        let count = 1 + rng.below(if tasks == 3 { 4 } else { 3 });
        let mut act = || {
            let which = rng.below(2) as u32;
            match rng.below(8) {
                0 => vec![Act::Load(which)],
                1 => vec![Act::Store(which, rng.below(2) * (1 + own))],
                6 => vec![Act::Lock(0)],
                7 => vec![Act::Unlock(0)],
                2 => vec![Act::Add(which)],
                3 => {
                    let skipped = [Act::Load(which), Act::SkipUnlessSeen(1)];
                    [&skipped[..], &[Act::Load(1 - which)]].concat()
                }
                4 => vec![Act::Await(which, 1 - which)],
                _ => vec![Act::LoadOneOrBoth(which, 1 - which)],
            }
        };
        (0..count).flat_map(|_| act()).collect()
    };
    (0..tasks).map(&mut acts).collect()
}

/// As [`random_program`], but its tasks also make calls of objects. Some of these calls must not
/// overlap each other.
pub fn random_calls(seed: u64) -> Program {
    let mut rng = Rng::new(!seed);
    let mut program = random_program(seed);
    for acts in &mut program {
        for _ in 0..rng.below(3) {
            let (object, is_shared) = (rng.below(2) as u32, rng.below(3) == 0);
            let end = rng.below(1 + acts.len() as u64) as usize;
            acts.insert(end, Act::End(object, is_shared));
            let start = rng.below(1 + end as u64) as usize;
            acts.insert(start, Act::Begin(object, is_shared));
        }
    }
    program
}

/// As [`random_program`], but some tasks also wait until no other task can run.
pub fn random_idle_waits(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut program = random_program(seed);
    for _ in 0..=rng.below(2) {
        let task = rng.below(program.len() as u64) as usize;
        let place = rng.below(1 + program[task].len() as u64) as usize;
        program[task].insert(place, Act::UntilIdle);
    }
    program
}

/// A program of three tasks with sections in which locks are held, shared or exclusively, nested
/// or not. The program has one lock or two. It has too many schedules for brute force, but few
/// enough with few preemptions.
pub fn random_sections(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut below = |n: u64| rng.below(n) as u32;
    let mut program = Program::new();
    // Programs with one lock have more races.
    let locks = 1 + u64::from(below(2));
    for _ in 0..3 {
        let mut acts = VecDeque::new();
        for _ in 0..=below(3) {
            let outer = below(locks);
            add_section(&mut acts, outer + 2, &mut below);
            if locks == 2 && below(2) == 0 {
                let end = acts.pop_back().expect("a section has an end");
                add_section(&mut acts, 3 - outer, &mut below);
                acts.push_back(end);
            }
        }
        program.push(acts.into());
    }
    program
}

/// A random act on a channel.
fn message(channel: u32, below: &mut impl FnMut(u64) -> u32) -> Act {
    match below(6) {
        0 | 1 => Act::Send(channel),
        2 => Act::TrySend(channel),
        3 => Act::TryRecv(channel),
        _ => Act::Recv(channel),
    }
}

/// Random acts on an object that is initialised once.
fn initialisation(which: u32, below: &mut impl FnMut(u64) -> u32) -> Vec<Act> {
    match below(6) {
        0..=2 => vec![Act::Init(which), Act::InitEnd(which)],
        3 => vec![Act::InitSet(which)],
        4 => vec![Act::InitGet(which)],
        _ => vec![Act::InitWait(which)],
    }
}

/// A random act on an object with owners, such as an `Arc`.
fn owner(which: u32, below: &mut impl FnMut(u64) -> u32) -> Act {
    match below(6) {
        0 => Act::Clone(which),
        1 | 2 => Act::Drop(which),
        3 => Act::CountOwners(which),
        4 => Act::Upgrade(which),
        _ => Act::Unwrap(which),
    }
}

/// Adds a section in which a task holds a lock, shared or exclusively. The task acquires the lock
/// by waiting or by trying.
fn add_section(acts: &mut VecDeque<Act>, lock: u32, below: &mut impl FnMut(u64) -> u32) {
    let take = match below(5) {
        0 => Act::Read(lock),
        1 => Act::TryRead(lock),
        2 => Act::Lock(lock),
        _ => Act::TryLock(lock),
    };
    acts.push_back(take);
    let mut reads = matches!(take, Act::Read(_) | Act::TryRead(_));
    match below(4) {
        0 => acts.push_back(Act::Load(lock - 2)),
        1 if !reads => acts.push_back(Act::Add(lock - 2)),
        2 if !reads => {
            acts.push_back(Act::Downgrade(lock));
            reads = true;
        }
        _ => {}
    }
    acts.push_back(if reads {
        Act::EndRead(lock)
    } else {
        Act::Unlock(lock)
    });
}

/// Adds steps that touch nothing. The first step of a thread usually touches nothing.
fn add_idle_steps(program: &mut Program, rng: &mut Rng) {
    let begin_idle = rng.below(2) == 0;
    for acts in program {
        if begin_idle {
            acts.insert(0, Act::Idle);
        }
        if rng.below(8) == 0 {
            let place = rng.below(1 + acts.len() as u64);
            acts.insert(place as usize, Act::Idle);
        }
    }
}
