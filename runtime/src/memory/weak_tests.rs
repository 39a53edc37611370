//! Searches under memory models, compared with brute force by the axioms.

mod axioms;
mod stores;

use std::collections::BTreeSet;

use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use self::axioms::{Allowed, allowed};
use self::stores::Stores;
use super::Model;
use crate::base::rng::Rng;
use crate::search::testing::{
    Act, Atomic, Exhaustive, Final, Machine, Program, run, seeds, shrink,
};
use crate::search::{Dpor, Icb, Strategy};

/// The results of a search.
#[derive(Default)]
struct Found {
    executions: u64,
    ends: BTreeSet<Final>,
    graphs: BTreeSet<Vec<u64>>,
}

fn explore(program: &Program, model: Model, search: &mut dyn Strategy) -> Found {
    explore_up_to(program, model, search, u64::MAX).expect("there is no limit")
}

/// As [`explore`], but `None` if that takes more than `most` executions.
fn explore_up_to(
    program: &Program,
    model: Model,
    search: &mut dyn Strategy,
    most: u64,
) -> Option<Found> {
    explore_with(program, &mut Stores::new(model), search, most)
}

fn explore_with(
    program: &Program,
    stores: &mut Stores,
    search: &mut dyn Strategy,
    most: u64,
) -> Option<Found> {
    let mut machine = Machine::with_memory(program, stores);
    let mut found = Found::default();
    while search.begin() {
        run(&mut machine, search);
        found.executions += 1;
        found.ends.insert(machine.end());
        let memory = machine.memory.as_ref().expect("it has a memory model");
        found.graphs.insert(memory.graph());
        if found.executions > most {
            return None;
        }
    }
    Some(found)
}

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::C11];

/// A program of two to four tasks with at most nine acts.
fn random_program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut below = |n: u64| rng.below(n) as usize;
    let tasks = 2 + below(3);
    let values = 1 + below(3) as u64;
    // A program with few kinds of orderings has either more weak executions or more
    // synchronization.
    let strength = below(4);
    let order = |all: [Ordering; 3], rng: &mut dyn FnMut(u64) -> usize| match strength {
        0 => all[0],
        1 => all[rng(2)],
        2 => all[rng(3)],
        _ => all[1 + rng(2)],
    };
    let mut program: Program = vec![Vec::new(); tasks];
    let has_lock = below(4) == 0;
    let acts = 4 + below(6);
    while program.iter().map(Vec::len).sum::<usize>() < acts {
        let task = below(tasks as u64);
        let v = below(values) as u32;
        let value = 1 + below(3) as u64;
        let load = [Relaxed, Acquire, SeqCst];
        let store = [Relaxed, Release, SeqCst];
        let update = [Relaxed, AcqRel, SeqCst];
        let act = match below(12) {
            0..=3 => Act::Atomic(v, Atomic::Load(order(load, &mut below))),
            4..=7 => Act::Atomic(v, Atomic::Store(value, order(store, &mut below))),
            8 => Act::Atomic(v, Atomic::Add(below(2) as u64, order(update, &mut below))),
            9 => {
                let all = [[Relaxed, Acquire, SeqCst], store][below(2)];
                Act::Atomic(v, Atomic::Swap(value, order(all, &mut below)))
            }
            10 => {
                let from = below(3) as u64;
                let success = order(update, &mut below);
                Act::Atomic(
                    v,
                    Atomic::Exchange(from, value, success, order(load, &mut below)),
                )
            }
            _ => match below(3) {
                0 if has_lock => {
                    program[task].extend([
                        Act::Lock(0),
                        Act::Atomic(v, Atomic::Load(Relaxed)),
                        Act::Unlock(0),
                    ]);
                    continue;
                }
                1 if has_lock => {
                    program[task].extend([
                        Act::Lock(0),
                        Act::Atomic(v, Atomic::Store(value, Relaxed)),
                        Act::Unlock(0),
                    ]);
                    continue;
                }
                _ => Act::Fence([Acquire, Release, AcqRel, SeqCst, SeqCst][below(5)]),
            },
        };
        program[task].push(act);
    }
    program
}

/// The largest number of graphs of a program that brute force continues.
const MOST: usize = 100_000;

/// A search: its name, its constructor, and whether updates that leave the value unchanged are
/// loads. If they are, there are fewer graphs, but the same ends.
type Way = (&'static str, fn() -> Box<dyn Strategy>, bool);

const WAYS: [Way; 3] = [
    ("dpor", || Box::new(Dpor::new()), false),
    ("icb", || Box::new(Icb::new(u32::MAX, u64::MAX)), false),
    ("dpor with loads", || Box::new(Dpor::new()), true),
];

/// Whether the results of a search differ from those that the axioms allow.
fn differs(program: &Program, model: Model, allowed: &Allowed, (_, search, loads): Way) -> bool {
    let mut stores = Stores::new(model);
    stores.reads_kept = loads;
    let mut search = search();
    let found = explore_with(program, &mut stores, &mut *search, u64::MAX);
    let found = found.expect("there is no limit");
    assert!(search.progress().complete, "{program:?}");
    found.ends != allowed.ends || !loads && found.graphs != allowed.graphs
}

#[test]
fn searches_reach_each_consistent_graph_and_no_other() {
    for seed in seeds() {
        let program = random_program(seed);
        for model in MODELS {
            let Some(all) = allowed(&program, model, MOST) else {
                continue;
            };
            for way in WAYS {
                if !differs(&program, model, &all, way) {
                    continue;
                }
                let least = shrink(&program, |program| {
                    let all = allowed(program, model, MOST);
                    all.is_some_and(|all| differs(program, model, &all, way))
                });
                panic!("{seed}: {} under {model:?}: {least:?}", way.0);
            }
        }
    }
}

/// Asserts that each search finds all results that the axioms allow, and no others, for a small
/// program.
fn agrees_with_the_axioms(program: &Program) {
    for model in MODELS {
        let all = allowed(program, model, MOST).expect("it is small");
        for way in WAYS {
            let is_other = differs(program, model, &all, way);
            assert!(!is_other, "{} {model:?}: {program:?}", way.0);
        }
    }
}

/// Updates that leave the value unchanged, and may be treated as loads. The first one has the
/// ordering of an exchange that succeeds. The second one may be late, so that the other update
/// reads from it. The third one may not be late: the other update would read from its own future.
#[test]
fn updates_that_keep_the_value_are_updates() {
    let keep = Act::Atomic(Y, Atomic::Add(0, Relaxed));
    let programs = [
        vec![
            vec![
                Act::Atomic(Y, Atomic::Exchange(1, 1, Relaxed, SeqCst)),
                ld(X, Relaxed),
            ],
            vec![st(X, 1, Relaxed), st(Y, 1, Release)],
        ],
        vec![
            vec![ld(X, Relaxed), keep],
            vec![add(Y, Relaxed)],
            vec![st(Y, 1, Release), st(X, 2, Relaxed)],
        ],
        vec![
            vec![ld(X, Relaxed), keep],
            vec![add(Y, Relaxed), st(X, 2, Relaxed)],
        ],
    ];
    programs.iter().for_each(agrees_with_the_axioms);
}

/// An update that leaves the value unchanged is a store. So the load of the first task comes
/// before this update in the order of sequentially consistent events.
#[test]
fn an_update_that_keeps_the_value_comes_after_the_loads_of_older_values() {
    let swap = |order| Act::Atomic(X, Atomic::Swap(2, order));
    let programs = [
        vec![
            vec![st(Y, 3, SeqCst), ld(X, SeqCst)],
            vec![swap(Acquire), Act::Fence(SeqCst), ld(Y, Acquire)],
            vec![swap(Acquire)],
        ],
        vec![
            vec![st(Y, 3, SeqCst), ld(X, SeqCst)],
            vec![swap(SeqCst), ld(Y, SeqCst)],
            vec![swap(Acquire)],
        ],
    ];
    programs.iter().for_each(agrees_with_the_axioms);
}

/// The first task cannot read the old value of Y: it acquires the lock after the store of the
/// third task, and this store comes after both updates of the second task.
#[test]
fn a_lock_is_a_part_of_the_order_in_which_events_reach_memory() {
    let program = vec![
        vec![Act::Lock(0), ld(Y, Relaxed)],
        vec![add(Y, Relaxed), add(X, Relaxed)],
        vec![Act::Lock(0), st(X, 2, Relaxed), Act::Unlock(0)],
    ];
    agrees_with_the_axioms(&program);
}

#[test]
fn the_monitor_reports_programs_with_weak_executions_and_no_other() {
    let (mut without_effects, mut found_effects, mut unclear) = (0, 0, 0);
    for seed in seeds() {
        let program = random_program(seed);
        let all = [Model::Sc, Model::C11].map(|model| allowed(&program, model, MOST));
        let [Some(sc), Some(c11)] = all else {
            continue;
        };
        let mut stores = Stores::watching();
        let found = explore_with(&program, &mut stores, &mut Dpor::new(), u64::MAX);
        let found = found.expect("there is no limit");
        assert_eq!(found.graphs, sc.graphs, "{seed}: {program:?}");
        let is_weak = sc.graphs != c11.graphs;
        if stores.found_late_effect || !stores.is_unclear {
            assert_eq!(stores.found_late_effect, is_weak, "{seed}: {program:?}");
        }
        without_effects += usize::from(!is_weak);
        found_effects += usize::from(stores.found_late_effect);
        unclear += usize::from(!stores.found_late_effect && stores.is_unclear);
    }
    // There are enough programs with and without late effects, and few that the monitor cannot
    // judge.
    let counts = (without_effects, found_effects, unclear);
    assert!(
        found_effects > unclear && without_effects > found_effects,
        "{counts:?}"
    );
}

/// `icb` finds the ends of all schedules whose preemptions and late effects together are at most
/// `bound`.
#[test]
fn icb_finds_the_failures_of_all_schedules_of_its_bound() {
    for seed in seeds() {
        let program = random_program(seed);
        let bound = (seed % 4) as u32;
        for model in [Model::Tso, Model::C11] {
            let differs = |program: &Program| {
                let mut all = Exhaustive::new(bound);
                let Some(all) = explore_up_to(program, model, &mut all, 3_000) else {
                    return false;
                };
                let mut search = Icb::new(bound, u64::MAX);
                let found = explore(program, model, &mut search);
                found.ends != all.ends || found.graphs != all.graphs
            };
            assert!(
                !differs(&program),
                "{seed}: {model:?} {bound} {:?}",
                shrink(&program, differs)
            );
        }
    }
}

/// The name of a program, its tasks, and for each model the number of its graphs.
type Litmus = (&'static str, Vec<Vec<Act>>, [usize; 3]);

fn st(v: u32, value: u64, order: Ordering) -> Act {
    Act::Atomic(v, Atomic::Store(value, order))
}

fn ld(v: u32, order: Ordering) -> Act {
    Act::Atomic(v, Atomic::Load(order))
}

fn add(v: u32, order: Ordering) -> Act {
    Act::Atomic(v, Atomic::Add(1, order))
}

const X: u32 = 0;
const Y: u32 = 1;
const Z: u32 = 2;

/// Two tasks. Each one stores one value, performs the acts `between`, and loads the other value.
fn store_buffering(order: [Ordering; 2], between: &[Act]) -> Vec<Vec<Act>> {
    let task = |own, other| [&[st(own, 1, order[0])], between, &[ld(other, order[1])]].concat();
    vec![task(X, Y), task(Y, X)]
}

fn message_passing(store: &[Act], load: &[Act]) -> Vec<Vec<Act>> {
    vec![
        [&[st(X, 1, Relaxed)], store].concat(),
        [load, &[ld(X, Relaxed)]].concat(),
    ]
}

fn independent_reads(store: Ordering, loads: [Ordering; 2], between: &[Act]) -> Vec<Vec<Act>> {
    let reads = |a, b| [&[ld(a, loads[0])], between, &[ld(b, loads[1])]].concat();
    vec![
        vec![st(X, 1, store)],
        vec![st(Y, 1, store)],
        reads(X, Y),
        reads(Y, X),
    ]
}

/// Litmus tests, with the numbers of their graphs under SC, TSO and C11. `GenMC` publishes the
/// same numbers for some of them.
#[expect(clippy::too_many_lines, reason = "a table")]
fn litmus() -> Vec<Litmus> {
    let sc = Act::Fence(SeqCst);
    let two_writes = |order| {
        vec![
            vec![st(X, 1, order), st(Y, 2, order)],
            vec![st(Y, 1, order), st(X, 2, order)],
        ]
    };
    let r = |order| {
        vec![
            vec![st(X, 1, order), st(Y, 1, order)],
            vec![st(Y, 2, order), ld(X, order)],
        ]
    };
    let wrc = |store, load| {
        vec![
            vec![st(X, 1, Relaxed)],
            vec![ld(X, load), st(Y, 1, store)],
            vec![ld(Y, load), ld(X, Relaxed)],
        ]
    };
    let isa2 = |outside: Act, middle: Option<Act>, store, load| {
        let between = middle.as_slice();
        vec![
            vec![st(X, 1, Relaxed), outside, st(Y, 1, store)],
            [&[ld(Y, load)], between, &[st(Z, 1, store)]].concat(),
            vec![ld(Z, load), outside, ld(X, Relaxed)],
        ]
    };
    vec![
        ("SB relaxed", store_buffering([Relaxed; 2], &[]), [3, 4, 4]),
        (
            "SB release/acquire",
            store_buffering([Release, Acquire], &[]),
            [3, 4, 4],
        ),
        ("SB SC", store_buffering([SeqCst; 2], &[]), [3, 3, 3]),
        (
            "SB SC fences",
            store_buffering([Relaxed; 2], &[sc]),
            [3, 3, 3],
        ),
        (
            "SB, an update of a common location",
            store_buffering([Relaxed; 2], &[add(Z, AcqRel)]),
            [4, 4, 4],
        ),
        (
            "SB, updates of the own flag",
            vec![
                vec![add(X, AcqRel), ld(Y, Acquire)],
                vec![add(Y, AcqRel), ld(X, Acquire)],
            ],
            [3, 3, 4],
        ),
        (
            "MP relaxed",
            message_passing(&[st(Y, 1, Relaxed)], &[ld(Y, Relaxed)]),
            [3, 3, 4],
        ),
        (
            "MP release only",
            message_passing(&[st(Y, 1, Release)], &[ld(Y, Relaxed)]),
            [3, 3, 4],
        ),
        (
            "MP",
            message_passing(&[st(Y, 1, Release)], &[ld(Y, Acquire)]),
            [3, 3, 3],
        ),
        (
            "MP fences",
            message_passing(
                &[Act::Fence(Release), st(Y, 1, Relaxed)],
                &[ld(Y, Relaxed), Act::Fence(Acquire)],
            ),
            [3, 3, 3],
        ),
        (
            "MP, the releaser's own relaxed store",
            message_passing(&[st(Y, 1, Release), st(Y, 2, Relaxed)], &[ld(Y, Acquire)]),
            [4, 4, 5],
        ),
        (
            "MP through an update",
            vec![
                vec![st(X, 1, Relaxed), st(Y, 1, Release)],
                vec![add(Y, Relaxed)],
                vec![ld(Y, Acquire), ld(X, Relaxed)],
            ],
            [9, 9, 9],
        ),
        (
            "S",
            vec![
                vec![st(X, 2, Relaxed), st(Y, 1, Release)],
                vec![ld(Y, Acquire), st(X, 1, Relaxed)],
            ],
            [3, 3, 3],
        ),
        (
            "LB",
            vec![
                vec![ld(X, Relaxed), st(Y, 1, Relaxed)],
                vec![ld(Y, Relaxed), st(X, 1, Relaxed)],
            ],
            [3, 3, 3],
        ),
        (
            "CoRR",
            vec![
                vec![st(X, 1, Relaxed)],
                vec![ld(X, Relaxed), ld(X, Relaxed)],
            ],
            [3, 3, 3],
        ),
        (
            "CoRR2",
            vec![
                vec![st(X, 1, Relaxed)],
                vec![st(X, 2, Relaxed)],
                vec![ld(X, Relaxed), ld(X, Relaxed)],
                vec![ld(X, Relaxed), ld(X, Relaxed)],
            ],
            [72, 72, 72],
        ),
        ("R relaxed", r(Relaxed), [3, 4, 4]),
        ("R SC", r(SeqCst), [3, 3, 3]),
        ("2+2W relaxed", two_writes(Relaxed), [3, 3, 4]),
        ("2+2W SC", two_writes(SeqCst), [3, 3, 3]),
        ("WRC relaxed", wrc(Relaxed, Relaxed), [7, 7, 8]),
        ("WRC", wrc(Release, Acquire), [7, 7, 7]),
        (
            "IRIW",
            independent_reads(Release, [Acquire; 2], &[]),
            [15, 15, 16],
        ),
        (
            "IRIW SC",
            independent_reads(SeqCst, [SeqCst; 2], &[]),
            [15, 15, 15],
        ),
        (
            "IRIW SC fences",
            independent_reads(Relaxed, [Relaxed; 2], &[sc]),
            [15, 15, 15],
        ),
        (
            "IRIW, acquiring and then SC loads",
            independent_reads(SeqCst, [Acquire, SeqCst], &[]),
            [15, 15, 16],
        ),
        (
            "RWC SC fences",
            vec![
                vec![st(X, 1, Relaxed)],
                vec![ld(X, Relaxed), sc, ld(Y, Relaxed)],
                vec![st(Y, 1, Relaxed), sc, ld(X, Relaxed)],
            ],
            [7, 7, 7],
        ),
        (
            "W+RWC SC fences",
            vec![
                vec![st(X, 1, Relaxed), st(Z, 1, Release)],
                vec![ld(Z, Acquire), sc, ld(Y, Relaxed)],
                vec![st(Y, 1, Relaxed), sc, ld(X, Relaxed)],
            ],
            [7, 7, 7],
        ),
        (
            "ISA2, SC fences outside",
            isa2(sc, None, Relaxed, Relaxed),
            [7, 7, 8],
        ),
        (
            "ISA2, SC fences outside and a message within",
            isa2(sc, None, Release, Acquire),
            [7, 7, 7],
        ),
        (
            "ISA2, three SC fences",
            isa2(sc, Some(sc), Relaxed, Relaxed),
            [7, 7, 7],
        ),
        (
            "SB of SC accesses, with a message within the first task",
            vec![
                vec![st(X, 1, SeqCst), st(Z, 1, Release)],
                vec![ld(Z, Acquire), ld(Y, SeqCst)],
                vec![st(Y, 1, SeqCst), ld(X, SeqCst)],
            ],
            [7, 7, 7],
        ),
        (
            "a store between two loads, of which the later one may not be late",
            vec![
                vec![st(X, 1, SeqCst)],
                vec![st(Y, 3, SeqCst), ld(X, Acquire)],
                vec![ld(X, Acquire), st(Z, 3, Release), ld(Y, Acquire)],
            ],
            [7, 7, 8],
        ),
        (
            "Z6.U",
            vec![
                vec![st(X, 1, SeqCst), st(Y, 1, Release)],
                vec![add(Y, SeqCst), ld(Y, Relaxed)],
                vec![st(Y, 3, SeqCst), ld(X, SeqCst)],
            ],
            [18, 18, 24],
        ),
        (
            "S with an observer of the late store",
            vec![
                vec![st(X, 2, Relaxed), st(Y, 1, Relaxed)],
                vec![ld(Y, Relaxed), st(X, 1, Relaxed)],
                vec![ld(X, Relaxed)],
            ],
            [9, 9, 12],
        ),
    ]
}

#[test]
fn litmus_tests_have_the_graphs_that_the_models_allow() {
    for (name, program, counts) in litmus() {
        for (model, count) in MODELS.into_iter().zip(counts) {
            let allowed = allowed(&program, model, MOST).expect("it is small");
            let found = explore(&program, model, &mut Dpor::new());
            assert_eq!(allowed.graphs.len(), count, "{name}, {model:?}: the axioms");
            assert_eq!(found.graphs, allowed.graphs, "{name}, {model:?}");
        }
    }
}

/// The exchange fails, and is a fence on x86. It does not release the later store of its task. So
/// the last load may read the value before this store.
#[test]
fn a_failing_exchange_releases_nothing_that_comes_after_it() {
    let failing = Act::Atomic(2, Atomic::Exchange(1, 3, AcqRel, SeqCst));
    let swap = |order| Act::Atomic(X, Atomic::Swap(2, order));
    let program = vec![
        vec![st(Y, 3, Relaxed), ld(X, SeqCst)],
        vec![failing, swap(Relaxed), st(X, 3, Release), add(Y, Relaxed)],
        vec![swap(Acquire)],
    ];
    agrees_with_the_axioms(&program);
}
