//! Rounds of schedules. Several processes can share a round, because its schedules do not depend on
//! the findings of each other.

use super::super::chunked_vec::ChunkedVec;
use super::super::hash_set::{HashSet, prefetch};
use super::{DEFAULT, Icb, Node, Strategy};
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::memory::{EngineVec, engine_vec};

/// One decision that is not the default one.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Deviation {
    pub(super) index: u32,
    /// The index of the chosen option, or the chosen outcome of the operation.
    pub(super) choice: u32,
    /// The hash of the execution before this decision, when the deviation was found.
    pub(super) prefix: u64,
}

impl Deviation {
    #[inline]
    pub(super) fn name(self) -> u64 {
        self.prefix ^ u64::from(self.choice).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// A choice that an execution shows to be needed, and its cost: the number of preemptions of the
/// schedule up to and including the choice.
#[derive(Clone, Copy)]
pub struct BacktrackPoint {
    pub(super) deviation: Deviation,
    pub(super) cost: u32,
}

/// The findings of an execution.
pub struct Findings {
    /// The backtrack points in order, possibly with duplicates.
    pub backtrack_points: EngineVec<BacktrackPoint>,
    /// The number of choices within the largest bound, without the default choices, at the
    /// decisions after the last deviation.
    pub possible: u64,
}

/// The deviations of several schedules, concatenated.
pub struct Listed {
    /// The deviations of all schedules.
    pub deviations: EngineVec<Deviation>,
    /// The start of the deviations of the last schedule, and the nodes of this schedule. The next
    /// schedule mostly has the same first nodes.
    last: usize,
    path: EngineVec<u32>,
}

impl Listed {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            deviations: engine_vec(),
            last: 0,
            path: engine_vec(),
        }
    }

    /// Removes all schedules.
    pub fn clear(&mut self) {
        self.deviations.clear();
        self.path.clear();
        self.last = 0;
    }

    /// Removes the last schedule.
    pub fn pop(&mut self) {
        self.deviations.truncate(self.last);
        self.path.clear();
    }

    /// The deviations of the last schedule.
    pub fn last(&self) -> &[Deviation] {
        &self.deviations[self.last..]
    }

    /// Makes `path` the nodes from the root to `node`. Returns the number of nodes at its start
    /// that are unchanged.
    fn go_to(&mut self, mut node: u32, nodes: &ChunkedVec<Node>) -> usize {
        let before = self.path.len();
        let mut common = before;
        while node != DEFAULT {
            // The nodes of a path are in order: each was found after its parent.
            while common > 0 && self.path[common - 1] > node {
                common -= 1;
            }
            if common > 0 && self.path[common - 1] == node {
                break;
            }
            self.path.push(node);
            node = nodes[node as usize].parent;
        }
        if node == DEFAULT {
            common = 0;
        }
        self.path[before..].reverse();
        self.path.drain(common..before);
        common
    }
}

/// The largest number of choices to remember. Each one needs 16 bytes or more. Further choices are
/// dropped.
const MOST: u64 = 1 << 25;

/// Rounds are long if at least this number of schedules is known. Small searches gain nothing from
/// long rounds.
const FIRST_LONG_ROUND: usize = 1 << 11;
/// The number of schedules in a long round.
const ROUND: usize = 1 << 9;

/// The node of a schedule is prefetched `FAR_AHEAD` schedules before the schedule runs, and the node's
/// parent is prefetched `AHEAD` schedules before. Most nodes are old and in no cache.
const AHEAD: usize = 4;
const FAR_AHEAD: usize = 8;

impl Icb {
    /// Begins the next round. If rounds are long, also takes the schedules of the round after it:
    /// helpers can run these while the findings of this round are still taken over.
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

    /// Queues the schedule that ends with this backtrack point, unless it was queued before. Drops
    /// it if it is beyond the largest bound or if its queue is full.
    pub(super) fn open(&mut self, BacktrackPoint { deviation, cost }: BacktrackPoint) {
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

    /// Writes the choices that were queued. If none of them was dropped, each one has a node. Then
    /// they need not be written, because [`Self::read_opened`] reads them from the nodes.
    pub(super) fn write_opened(&self, out: &mut Checkpoint) {
        let count = self.opened.count();
        let have_nodes = count == self.nodes.len() as u64 && count < MOST;
        have_nodes.write(out);
        if !have_nodes {
            self.opened.write(out);
        }
    }

    /// Reads the choices that were queued. The nodes must have been read before. Returns whether
    /// the input is valid.
    pub(super) fn read_opened(&mut self, input: &mut &[u8]) -> bool {
        let opened = bool::read(input).and_then(|have_nodes| {
            if !have_nodes {
                return HashSet::read(input);
            }
            let mut opened = HashSet::new();
            for node in self.nodes.iter() {
                opened.insert(node.deviation.name());
            }
            Some(opened)
        });
        let Some(opened) = opened else {
            return false;
        };
        self.opened = opened;
        true
    }

    /// The number of the round, and the number of its schedules that have not begun.
    pub fn round(&self) -> (u64, usize) {
        (self.rounds, self.round.len())
    }

    /// The number of schedules in the round after this one.
    pub fn ahead(&self) -> usize {
        self.ahead.len()
    }

    /// Appends one schedule to `to`: a schedule of this round, or of the next round if `is_ahead` is
    /// true. It is the schedule that runs after the next `after` schedules of its round.
    pub fn list(&self, is_ahead: bool, after: usize, to: &mut Listed) {
        let round = if is_ahead { &self.ahead } else { &self.round };
        let number = round.len() - 1 - after;
        self.prefetch_nodes(round, number);
        let common = to.go_to(round[number], &self.nodes);
        let (start, last) = (to.deviations.len(), to.last);
        to.deviations.extend_from_within(last..last + common);
        for &node in &to.path[common..] {
            to.deviations.push(self.nodes[node as usize].deviation);
        }
        to.last = start;
    }

    /// The largest bound. A helper uses the same largest bound as the search that it serves.
    pub fn largest_bound(&self) -> u32 {
        self.largest_bound
    }

    /// In the search of a helper process: makes the schedule of these deviations, which belongs to
    /// `round`, the next one. A helper may run schedules of a round after schedules of the next
    /// round.
    pub fn follow(&mut self, deviations: &[Deviation], round: u32) {
        self.only_finds = true;
        self.serves = short(round);
        self.findings.backtrack_points.clear();
        self.current.clear();
        self.current.extend_from_slice(deviations);
        self.retry();
    }

    /// In the search of a helper process: removes duplicate backtrack points, and those that the
    /// served search already has. It has all backtrack points that were reported for earlier rounds,
    /// because it takes over the findings of a round before those of the next round.
    pub(super) fn leave_out_known(&mut self) {
        for point in &self.findings.backtrack_points {
            self.reported.prefetch(point.deviation.name());
        }
        let mut recent = [0; 256];
        let reported = &self.reported;
        let pending_rounds = [self.serves, next(self.serves)];
        self.findings.backtrack_points.retain(|point| {
            let name = point.deviation.name();
            let slot = &mut recent[name as usize % 256];
            let is_reported = core::mem::replace(slot, name) == name;
            !is_reported
                && reported
                    .round_of(name)
                    .is_none_or(|of| pending_rounds.contains(&of))
        });
    }

    /// In the search of a helper process: records that the findings of the last execution were sent
    /// to the served search.
    pub fn note_reported(&mut self) {
        for point in &self.findings.backtrack_points {
            self.reported.note(point.deviation.name(), self.serves);
        }
    }

    /// The findings of the last execution.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Prefetches the memory that [`Self::learn`] will read for these backtrack points.
    pub fn prefetch(&self, backtrack_points: &[BacktrackPoint]) {
        for point in backtrack_points {
            self.opened.prefetch(point.deviation.name());
        }
    }

    /// Prefetches the nodes of the schedules that run soon in `round`, after the one with index
    /// `number`.
    fn prefetch_nodes(&self, round: &[u32], number: usize) {
        if let Some(&node) = round.get(number.wrapping_sub(FAR_AHEAD)) {
            prefetch(&raw const self.nodes[node as usize]);
        }
        if let Some(&node) = round.get(number.wrapping_sub(AHEAD))
            && let Some(parent) = self.nodes.get(self.nodes[node as usize].parent as usize)
        {
            prefetch(parent);
        }
    }

    /// Queues the findings of the current schedule. A helper may have run this schedule.
    pub fn learn(&mut self, backtrack_points: &[BacktrackPoint], possible: u64) {
        self.possible += possible;
        let queued = self.now.len();
        self.prefetch(backtrack_points);
        self.prefetch_nodes(&self.round, self.round.len());
        for point in backtrack_points {
            self.open(*point);
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

    /// Begins a bound. The queued schedules count as equal parts of the bound in the estimate of
    /// its remaining schedules.
    pub(super) fn begin_bound(&mut self) {
        (self.taken, self.explored) = (0, 0.0);
        let each = 1.0 / self.now.len() as f32;
        for &node in &self.now {
            self.nodes[node as usize].part = each;
        }
    }

    /// The number of schedules of the current bound that were run.
    pub(crate) fn taken_of_bound(&self) -> u64 {
        self.taken
    }

    /// The number of schedules that are known but were not run: those of the current bound and of
    /// the next one.
    pub(crate) fn queued(&self) -> u64 {
        let queues = [&self.round, &self.ahead, &self.now, &self.next];
        queues.iter().map(|queue| queue.len() as u64).sum()
    }

    /// An estimate of the remaining schedules of the current bound, from the schedules that were
    /// run. The share of a schedule and its descendants is divided equally among the schedule alone
    /// and each child with its descendants. So the estimate is too low if many children have
    /// children.
    pub(crate) fn rest_of_bound(&self) -> f64 {
        let taken = self.taken as f64;
        let queued = self.now.len() as f64;
        (taken / self.explored - taken).max(queued)
    }
}

/// Shortens the number of a round to 16 bits. The result is never 0.
fn short(round: u32) -> u16 {
    (round % u32::from(u16::MAX)) as u16 + 1
}

/// The short number of the next round.
fn next(short: u16) -> u16 {
    short % u16::MAX + 1
}

/// Moves the last items of a queue, at most `most`.
fn take_last(from: &mut EngineVec<u32>, most: usize, to: &mut EngineVec<u32>) {
    let rest = from.len().saturating_sub(most);
    to.extend_from_slice(&from[rest..]);
    from.truncate(rest);
}
