//! Tests of all strategies on programs whose behaviour does not depend on the schedule alone.

use super::testing::{Program, execute_nondeterministic, random_program, seeds};
use super::{Auto, Delay, Dpor, Icb, Part, Pct, Pos, Random, Strategy, Surw};
use crate::base::rng::Rng;

/// A random change of `program`: some of its tasks end earlier, or it is a completely different
/// program.
fn changed(program: &Program, rng: &mut Rng) -> Program {
    if rng.below(8) == 0 {
        return random_program(rng.below(u64::MAX));
    }
    let mut changed = program.clone();
    for acts in &mut changed {
        if rng.below(3) == 0 {
            acts.truncate(rng.below(acts.len() as u64 + 1) as usize);
        }
    }
    changed
}

/// Runs at most 100 executions of a program that sometimes changes. Returns the number of
/// executions that left the prescribed prefix of `search`.
fn explore_nondeterministic(seed: u64, search: &mut dyn Strategy) -> u64 {
    let mut rng = Rng::new(seed);
    let program = random_program(seed);
    let mut diverged = 0;
    for _ in 0..100 {
        if !search.begin() {
            break;
        }
        let changed = match rng.below(4) {
            0 => &changed(&program, &mut rng),
            _ => &program,
        };
        diverged += u64::from(execute_nondeterministic(changed, search));
    }
    diverged
}

/// Each strategy continues, and none panics. Real tests may be nondeterministic, and a failing
/// execution of such a test is useful, too.
#[test]
fn every_strategy_continues_where_the_program_changes() {
    let mut noticed = [0; 8];
    for seed in seeds() {
        let searches: [Box<dyn Strategy>; 8] = [
            Box::new(Icb::new(2, 1000)),
            Box::new(Dpor::new()),
            Box::new(Auto::new(2, 1000, 1000, seed, Part::WHOLE)),
            Box::new(Delay::new(1000)),
            Box::new(Pct::new(seed)),
            Box::new(Pos::new(seed)),
            Box::new(Surw::new(seed)),
            Box::new(Random::new(seed)),
        ];
        for (mut search, noticed) in searches.into_iter().zip(&mut noticed) {
            *noticed += explore_nondeterministic(seed, &mut *search);
        }
    }
    // The first four strategies prescribe the start of an execution. They detect differences.
    assert!(noticed[..4].iter().all(|&count| count > 0), "{noticed:?}");
}
