//! `icb` against brute force.

use super::super::model::{self, Act, Program};
use super::*;

/// Two tasks that take turns at one value.
fn rivals(steps: usize) -> Program {
    vec![vec![Act::Add(0); steps]; 2]
}

#[test]
fn each_schedule_is_run_once_and_fewer_preemptions_come_first() {
    let program = rivals(3);
    let mut search = Icb::new(10, u64::MAX);
    let (mut costs, mut graphs) = (Vec::new(), std::collections::BTreeSet::new());
    while search.begin() {
        let outcome = model::execute(&program, &mut search);
        costs.push(outcome.preemptions);
        graphs.insert(outcome.graph);
    }
    assert!(costs.is_sorted());
    assert_eq!(costs.len(), 20, "6 choose 3 interleavings");
    assert_eq!(graphs.len(), 20);
    assert!(search.progress().complete);
}

#[test]
fn a_bound_holds() {
    let program = rivals(4);
    for bound in 0..4 {
        let mut search = Icb::new(bound, u64::MAX);
        while search.begin() {
            assert!(model::execute(&program, &mut search).preemptions <= bound);
        }
        assert_eq!(search.progress().bound_completed, Some(bound));
        assert!(!search.progress().complete);
    }
}

#[test]
fn every_end_within_a_bound_is_reached() {
    for seed in model::seeds() {
        let program = model::random_program(seed);
        for bound in 0..=3 {
            let Some(all) = model::explore_all(&program, bound, 2_000) else {
                break;
            };
            let reduced = model::explore(&program, &mut Icb::new(bound, u64::MAX));
            assert_eq!(
                all.ends, reduced.ends,
                "seed {seed}, bound {bound}: {program:?}"
            );
        }
    }
}
