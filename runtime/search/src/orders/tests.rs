//! Tests of the orders of pairs: against brute force over all interleavings of small programs.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::testing::{self, Act, Executed, Exhaustive, Program, visit};
use crate::{Dpor, Icb, Strategy, Touch};

/// The largest number of interleavings of a program that brute force runs.
const MOST: u64 = 500;

/// The number of random programs.
const PROGRAMS: usize = 1_000;

/// The ordered pairs of lines that were seen. The value states whether the lines raced, in this
/// order or the other one. The flag in the key matters only if both lines are the same: whether
/// the task with the smaller number was first.
type Seen = BTreeMap<(u32, u32, bool), bool>;

/// The same pair in the other order.
fn other((first, second, is_up): (u32, u32, bool)) -> (u32, u32, bool) {
    if first == second {
        (first, second, !is_up)
    } else {
        (second, first, is_up)
    }
}

/// The pairs that race, and of which only one order was seen.
fn blind(seen: &Seen) -> BTreeSet<(u32, u32, bool)> {
    let pairs = seen
        .iter()
        .filter(|(pair, races)| **races && !seen.contains_key(&other(**pair)));
    pairs.map(|(pair, _)| *pair).collect()
}

/// The orders that `search` sees in its first `most` executions.
fn seen_by(program: &Program, search: &mut dyn Strategy, most: u64) -> Seen {
    let (mut orders, mut lines) = (Orders::new(), BTreeSet::new());
    let _ = visit(program, search, most, |executed| {
        orders.add(executed.trace, executed.labels);
        lines.extend(executed.labels.iter().map(|it| it.line));
    });
    let mut seen = Seen::new();
    for (&first, &second) in lines
        .iter()
        .flat_map(|first| lines.range(first..).map(move |second| (first, second)))
    {
        let PairOrders {
            forward,
            backward,
            races,
        } = orders.of(first, second);
        let pair = (first, second, true);
        seen.extend(forward.then_some((pair, races)));
        seen.extend(backward.then_some((other(pair), races)));
    }
    seen
}

/// The orders of all interleavings, by definition. `None` if there are more than [`MOST`].
fn seen_by_force(program: &Program) -> Option<Seen> {
    let (seen, is_all) = seen_by_definition(program, &mut Exhaustive::new(u32::MAX), MOST);
    is_all.then_some(seen)
}

/// The orders of the first `most` executions of `search`, by definition: the orders are those of
/// the events in the trace, and happens-before is the closure of all dependences. The returned
/// flag is `true` if the search has no more executions.
fn seen_by_definition(program: &Program, search: &mut dyn Strategy, most: u64) -> (Seen, bool) {
    let mut seen = Seen::new();
    let all = visit(program, search, most, |executed| {
        add_by_force(executed, &mut seen);
    });
    let raced: Vec<_> = seen
        .iter()
        .filter(|(_, races)| **races)
        .map(|(pair, _)| other(*pair))
        .collect();
    for pair in raced {
        seen.entry(pair).and_modify(|races| *races = true);
    }
    (seen, all.is_some())
}

/// Adds the orders of an execution to `seen`. The value of an order is `true` if the two lines
/// raced in some execution.
fn add_by_force(executed: &Executed<'_>, seen: &mut Seen) {
    let trace = executed.trace;
    let took_place = |step: &&TraceStep| step.decision != TraceStep::NEVER;
    let steps: Vec<&TraceStep> = trace.steps.iter().take_while(took_place).collect();
    assert!(steps.len() <= 128, "a set of steps has 128 bits");
    // For each step: a bit set of the steps that happened before it, and the step itself.
    let mut before: Vec<u128> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let depends = |earlier: usize| {
            let mut touches = trace.touches_of(at).iter();
            let conflicts = |touch: &Touch| {
                let mut others = trace.touches_of(earlier).iter();
                others.any(|it| {
                    it.object == touch.object && touch.effect.depends(it.effect) != Dependence::None
                })
            };
            step.comes_last
                || steps[earlier].task == step.task
                || step.waker == earlier as u32
                || touches.any(conflicts)
        };
        let direct = (0..at).filter(|&earlier| depends(earlier));
        let all = direct.fold(1 << at, |all, earlier| all | before[earlier]);
        before.push(all);
    }
    let is_seen = |touch: &Touch| {
        touch.effect != Effect::Queue && !(touch.effect == Effect::Fail && trace.tries_to_read)
    };
    let mut events: Vec<(usize, Touch, u32)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        for (touch, number) in trace.touches_of(at).iter().zip(step.accesses..) {
            let label = executed.labels.iter().find(|it| it.touch == number);
            let label = label.filter(|_| is_seen(touch));
            events.extend(label.map(|label| (at, *touch, label.line)));
        }
    }
    for (place, &(at, touch, line)) in events.iter().enumerate() {
        let step = steps[at];
        let own = (0..at).rev().find(|&it| steps[it].task == step.task);
        let is_woken = !step.retries && !step.timed && step.waker != TraceStep::NONE;
        let waker = is_woken.then_some(step.waker as usize);
        let known = own
            .into_iter()
            .chain(waker)
            .fold(0, |all, it| all | before[it]);
        for &(earlier, cause, first) in &events[..place] {
            let dependence = touch.effect.depends(cause.effect);
            let task = steps[earlier].task;
            if task == step.task || cause.object != touch.object || dependence == Dependence::None {
                continue;
            }
            let may_race = dependence == Dependence::Races && cause.effect != Effect::Release;
            let races = may_race && !step.comes_last && known & 1 << earlier == 0;
            let is_up = line != first || task.0 < step.task.0;
            *seen.entry((first, line, is_up)).or_default() |= races;
        }
    }
}

/// The searches that explore the whole space.
fn searches() -> [Box<dyn Strategy>; 2] {
    [
        Box::new(Dpor::new()),
        Box::new(Icb::new(u32::MAX, u64::MAX)),
    ]
}

/// The name of a search whose orders differ from those of brute force.
fn wrong(program: &Program) -> Option<&'static str> {
    let expected = seen_by_force(program)?;
    let mut searches = searches().into_iter();
    searches.find_map(|mut search| {
        (seen_by(program, &mut *search, u64::MAX) != expected).then(|| search.name())
    })
}

#[test]
fn every_blind_pair_is_one_that_no_interleaving_inverts() {
    let (mut orders, mut blind_pairs) = (0, 0);
    let seeds = testing::seeds().start..;
    let programs = seeds.map(|seed| match seed % 4 {
        0 => testing::random_sections(seed),
        _ => testing::random_program(seed),
    });
    let small = programs.filter_map(|program| Some((seen_by_force(&program)?, program)));
    for (expected, program) in small.take(PROGRAMS) {
        for mut search in searches() {
            let found = seen_by(&program, &mut *search, u64::MAX);
            assert!(found == expected, "{}: {:?}", search.name(), {
                let program = testing::shrink(&program, |program| wrong(program).is_some());
                (wrong(&program), seen_by_force(&program), program)
            });
            assert_eq!(blind(&found), blind(&expected));
        }
        orders += expected.len();
        blind_pairs += blind(&expected).len();
    }
    assert!(orders > 1_000 && blind_pairs > 0);
}

#[test]
fn every_blind_pair_of_a_part_of_a_search_is_one_that_no_executed_interleaving_inverts() {
    let mut blind_pairs = 0;
    for seed in testing::seeds().take(PROGRAMS) {
        let program = testing::random_program(seed);
        let most = 1 + seed % 4;
        let found = seen_by(&program, &mut Dpor::new(), most);
        let (expected, _) = seen_by_definition(&program, &mut Dpor::new(), most);
        assert_eq!(found, expected, "{program:?}");
        blind_pairs += blind(&found).len();
    }
    assert!(blind_pairs > 500, "{blind_pairs} blind pairs");
}

/// The line of an act, as the machine numbers it.
fn line(task: u32, act: u32) -> u32 {
    testing::line_of(task as usize, act as usize)
}

#[test]
fn two_stores_are_seen_in_both_orders_and_a_message_in_one() {
    let stores = vec![vec![Act::Store(0, 1)], vec![Act::Store(0, 2)]];
    assert_eq!(
        blind(&seen_by(&stores, &mut Dpor::new(), u64::MAX)),
        BTreeSet::new()
    );
    // The store comes before the message, and the load after it: they do not race.
    let ordered = vec![
        vec![Act::Store(0, 1), Act::Send(0)],
        vec![Act::Recv(0), Act::Load(0)],
    ];
    let seen = seen_by(&ordered, &mut Dpor::new(), u64::MAX);
    let pair = (line(0, 0), line(1, 1), true);
    assert_eq!(
        (seen.get(&pair), seen.get(&other(pair))),
        (Some(&false), None)
    );
    assert!(!blind(&seen).contains(&pair));
}

/// One execution shows one order of each race.
#[test]
fn one_execution_leaves_each_race_blind() {
    let program = vec![
        vec![Act::Lock(0), Act::Unlock(0)],
        vec![Act::Lock(0), Act::Unlock(0)],
    ];
    let mut orders = Orders::new();
    let mut search = Dpor::new();
    let mut is_first = true;
    visit(&program, &mut search, MOST, |executed| {
        if std::mem::take(&mut is_first) {
            orders.add(executed.trace, executed.labels);
        }
    })
    .expect("a small program");
    let facts = orders.of(line(0, 0).min(line(1, 0)), line(0, 0).max(line(1, 0)));
    assert!(facts.races && facts.forward != facts.backward, "{facts:?}");
}

#[test]
fn each_pair_of_lines_has_its_own_place() {
    let lines = 0..20;
    let pairs = lines
        .clone()
        .flat_map(|first| lines.clone().map(move |second| (first, second)));
    let places: BTreeSet<usize> = pairs.map(|(first, second)| place(first, second)).collect();
    assert_eq!(places, (0..400).collect());
}
