//! Random draws of executors, as choices of the search.

use super::running::with;
use super::state::Execution;
use super::terms::Site;
use super::{Note, Op};
use crate::base::fingerprint::mix;
use crate::search::Outcomes;

/// For the first draws of each task, up to this number, the default outcome is 0. For later draws,
/// the default outcome varies, so that a loop that relies on chance ends.
const IN_ORDER: u32 = 32;

impl Execution {
    fn draw(&mut self, outcomes: u32, site: Site) -> u32 {
        let usual = usual_outcome(self.running().draws, outcomes);
        self.running().draws += 1;
        let outcome = (usual + self.choose_outcome(outcomes, Outcomes::Spurious)) % outcomes;
        self.log_choice(Op::Draw, site, Note::drew(outcome));
        outcome
    }
}

/// A random draw. `outcomes` is the number of outcomes, at least one. The draw is a choice of the
/// search: every outcome but the default one costs as much as a preemption. `None` outside an
/// execution.
pub fn draw(outcomes: u32, site: Site) -> Option<u32> {
    with(|execution| execution.draw(outcomes, site))
}

/// Records that a runtime of the library `library` runs its tasks on the thread that waits for
/// these tasks.
pub fn runs_on_one_thread(library: &'static str) {
    with(|execution| execution.one_thread_runtime = library);
}

/// The outcome that costs nothing, at a task's `count`-th draw.
fn usual_outcome(count: u32, outcomes: u32) -> u32 {
    if count < IN_ORDER {
        return 0;
    }
    (mix(count.into(), 0xd4a3) % u64::from(outcomes)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_draws_on_gets_every_outcome() {
        let mut seen = [false; 4];
        for count in 0..IN_ORDER + 40 {
            let outcome = usual_outcome(count, 4);
            assert!(count >= IN_ORDER || outcome == 0);
            seen[outcome as usize] = true;
        }
        assert_eq!(seen, [true; 4]);
    }
}
