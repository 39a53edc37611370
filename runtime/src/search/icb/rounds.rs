//! Rounds of schedules, which several processes can share: none of a round depends on
//! what another one shows.

use super::super::stored::stored;
use super::{DEFAULT, Icb, Node, Strategy};
use crate::platform::memory::EngineVec;

/// One decision that is not the default one.
#[derive(Clone, Copy)]
pub(crate) struct Deviation {
    pub(super) index: u32,
    /// The option's place, or the operation's outcome.
    pub(super) choice: u32,
    /// The hash of what led to this decision when it was found.
    pub(super) prefix: u64,
}

impl Deviation {
    #[inline]
    pub(super) fn name(self) -> u64 {
        self.prefix ^ u64::from(self.choice).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// A choice that an execution shows to be needed, and the preemptions up to it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    pub(super) deviation: Deviation,
    pub(super) cost: u32,
}

/// What an execution shows.
pub(crate) struct Findings {
    /// In order, some of them more than once.
    pub(crate) needs: EngineVec<Need>,
    /// So many other choices there were within the largest bound.
    pub(crate) possible: u64,
}

stored!(Deviation {
    index,
    choice,
    prefix
});

/// So many choices are remembered, by 16 bytes each at least: what more there are is
/// dropped.
const MOST: u64 = 1 << 25;

/// So many schedules are known before rounds are long: small searches are as well
/// off without.
const FIRST_LONG_ROUND: usize = 1 << 11;
/// How many schedules a long round has.
const ROUND: usize = 1 << 9;

impl Icb {
    /// Takes the schedules of the next round. While they run it is known what comes
    /// after them: so none waits until all that they show is taken over.
    pub(super) fn fill_round(&mut self) {
        let is_long = self.nodes.len() >= FIRST_LONG_ROUND;
        let length = if is_long { ROUND } else { 1 };
        core::mem::swap(&mut self.round, &mut self.ahead);
        if self.round.is_empty() {
            take_last(&mut self.now, length, &mut self.round);
        }
        if is_long {
            take_last(&mut self.now, length, &mut self.ahead);
        }
        self.rounds += 1;
    }

    /// Queues a choice, once.
    pub(super) fn open(&mut self, Need { deviation, cost }: Need) {
        if cost > self.largest_bound {
            self.beyond = true;
            return;
        }
        let is_full = self.opened.count() >= MOST;
        if !is_full && !self.opened.insert(deviation.name()) {
            return;
        }
        self.needed += 1;
        let queue = if cost > self.bound {
            &self.next
        } else {
            &self.now
        };
        if is_full || queue.len() >= self.keep {
            let bound = cost.max(self.bound);
            self.dropped = Some(self.dropped.map_or(bound, |least| least.min(bound)));
            return;
        }
        let before = self.current.partition_point(|d| d.index < deviation.index);
        let parent = match before {
            0 => DEFAULT,
            _ => self.path[before - 1],
        };
        let child = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            part: 0.0,
            deviation,
        });
        let queue = if cost > self.bound {
            &mut self.next
        } else {
            &mut self.now
        };
        queue.push(child);
        self.assign();
    }

    /// The number of the round, and how many of its schedules are left, the one at
    /// hand not counted.
    pub(crate) fn round(&self) -> (u64, usize) {
        (self.rounds, self.round.len())
    }

    /// How many schedules the round after this one has.
    pub(crate) fn ahead(&self) -> usize {
        self.ahead.len()
    }

    /// Appends the deviations of a schedule of this round or of the one after it: so
    /// many places after the next one.
    pub(crate) fn list(&self, is_ahead: bool, after: usize, out: &mut EngineVec<Deviation>) {
        let round = if is_ahead { &self.ahead } else { &self.round };
        let start = out.len();
        let mut node = round[round.len() - 1 - after];
        while node != DEFAULT {
            let Node {
                parent, deviation, ..
            } = self.nodes[node as usize];
            out.push(deviation);
            node = parent;
        }
        out[start..].reverse();
    }

    /// For a helper, too: it finds nothing beyond.
    pub(crate) fn largest_bound(&self) -> u32 {
        self.largest_bound
    }

    /// For a helper: runs the schedule of these deviations next. It may be one of a round
    /// before the latest that the helper has seen.
    pub(crate) fn follow(&mut self, deviations: &[Deviation], is_latest: bool) {
        self.only_finds = true;
        self.is_latest = is_latest;
        self.findings.needs.clear();
        self.current.clear();
        self.current.extend_from_slice(deviations);
        self.retry();
    }

    /// For a helper: it comes to a later round. What it has found so far is known to
    /// the search that it serves before that takes over anything of this round.
    pub(crate) fn begin_round(&mut self) {
        for &name in &self.found {
            self.opened.prefetch(name);
        }
        for name in self.found.drain(..) {
            if self.opened.count() < MOST {
                self.opened.insert(name);
            }
        }
    }

    /// For a helper: leaves out what the search knows, if this is its latest round, and
    /// what it is told in the same breath.
    pub(super) fn leave_out_known(&mut self) {
        for need in &self.findings.needs {
            self.opened.prefetch(need.deviation.name());
        }
        let mut recent = [0; 256];
        let (opened, found, is_latest) = (&self.opened, &mut self.found, self.is_latest);
        self.findings.needs.retain(|need| {
            let name = need.deviation.name();
            let slot = &mut recent[name as usize % 256];
            let is_told = core::mem::replace(slot, name) == name;
            if is_told || is_latest && opened.contains(name) {
                return false;
            }
            found.push(name);
            true
        });
    }

    /// For a helper: nobody has heard of what the last execution showed.
    pub(crate) fn forget_last(&mut self) {
        let told = self.found.len() - self.findings.needs.len();
        self.found.truncate(told);
        self.findings.needs.clear();
    }

    /// What the last execution showed.
    pub(crate) fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Takes what was found on the schedule at hand, by a helper perhaps.
    pub(crate) fn learn(&mut self, needs: &[Need], possible: u64) {
        self.possible += possible;
        let queued = self.now.len();
        for need in needs {
            self.opened.prefetch(need.deviation.name());
        }
        for need in needs {
            self.open(*need);
        }
        self.taken += 1;
        let children = &self.now[queued..];
        let whole = self.path.last();
        let whole = whole.map_or(1.0, |&node| self.nodes[node as usize].part);
        let each = whole / (children.len() + 1) as f32;
        for &child in children {
            self.nodes[child as usize].part = each;
        }
        self.explored += f64::from(each);
    }

    /// The schedules that are queued are taken for parts of one size.
    pub(super) fn begin_bound(&mut self) {
        (self.taken, self.explored) = (0, 0.0);
        let each = 1.0 / self.now.len() as f32;
        for &node in &self.now {
            self.nodes[node as usize].part = each;
        }
    }

    /// How many schedules of the bound at hand were run.
    pub(crate) fn taken_of_bound(&self) -> u64 {
        self.taken
    }

    /// About how many schedules of the bound at hand are left, by those that were run:
    /// each is taken for as large a part as each of those that it leads to and what
    /// they lead to, which is too much where many lead to more.
    pub(crate) fn rest_of_bound(&self) -> f64 {
        let taken = self.taken as f64;
        let queued = self.now.len() as f64;
        (taken / self.explored - taken).max(queued)
    }
}

/// Moves the last items of a queue, so many at most.
fn take_last(from: &mut EngineVec<u32>, most: usize, to: &mut EngineVec<u32>) {
    let rest = from.len().saturating_sub(most);
    to.extend(from.drain(rest..));
}
