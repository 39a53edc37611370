//! Partition of the search space into parts, which the shards of a run explore without
//! communication. The helper processes of one run are in `harness/helper_processes/`.
//!
//! All parts first explore the same schedules. Once enough schedules are queued, the space is
//! divided. Each part keeps a share of the queued schedules, and explores these schedules and all
//! schedules that deviate from them.
//!
//! After the division, an execution may show that a further deviation from one of the common
//! schedules must be explored. Other parts may find the same deviation. The schedule with this
//! deviation and all schedules that deviate from that schedule are a *late unit*. Every part that
//! finds a late unit explores it. All these parts explore the same schedules of the unit and use
//! the same name for it, so each of its schedules can be counted once. So the parts together
//! explore the same schedules as one search.

use core::cmp::Reverse;

use super::super::chunked_vec::ChunkedVec;
use super::{DEFAULT, Icb, Node, Progress, Strategy};
use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};

/// A part of the search space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The index of the part, from 0.
    pub index: u32,
    /// The number of parts, at least 1.
    pub count: u32,
}

impl Part {
    /// All of the space.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Whether this is the first part, which also does the work that cannot be divided.
    pub fn is_first(self) -> bool {
        self.index == 0
    }
}

/// The partition of the space, and the units of this part. A unit is a set of schedules that are
/// counted together: [`SHARED`], [`OWN`], or a late unit.
pub(crate) struct Partition {
    part: Part,
    /// The space is divided when at least this number of schedules is queued.
    enough: usize,
    /// The unit of each node. Empty before the space is divided.
    units: EngineVec<u32>,
    /// The number of schedules of each unit that were run.
    schedules: EngineVec<u64>,
    /// The names of the late units.
    late: EngineVec<u64>,
    /// The largest bound that was completed before the division.
    completed: Option<u32>,
    /// The number of schedules that were pruned before the division.
    pruned: u64,
    is_divided: bool,
}

/// The results of one part. The results of all parts are merged.
pub struct Share {
    /// The number of schedules that all parts have in common.
    pub shared: u64,
    /// The number of schedules that were pruned before the division.
    pub shared_pruned: u64,
    /// The name of each late unit, and the number of its schedules. Other parts may have explored
    /// the same unit, under the same name.
    pub late: EngineVec<(u64, u64)>,
    /// The largest bound that was completed before the division, and so by all parts. Without a
    /// division: the largest completed bound.
    pub bound_completed: Option<u32>,
    /// The space is divided, and this part is finished.
    pub is_exhausted: bool,
}

/// The unit of the common schedules: all parts explored them before the division.
const SHARED: u32 = 0;
/// The unit of the queued schedules that this part has kept, and of all schedules that deviate
/// from them.
const OWN: u32 = 1;
/// The first late unit.
const LATE: u32 = 2;

/// The space is divided when at least this number of schedules for each part is queued.
const SEEDS: usize = 64;

codec!(Part { index, count });
codec!(Partition {
    part,
    enough,
    units,
    schedules,
    late,
    completed,
    pruned,
    is_divided
});
codec!(Share {
    shared,
    shared_pruned,
    late,
    bound_completed,
    is_exhausted
});

impl Partition {
    fn new(part: Part) -> Self {
        let mut schedules = engine_vec();
        schedules.extend([0, 0]);
        Self {
            part,
            enough: SEEDS * part.count as usize,
            units: engine_vec(),
            schedules,
            late: engine_vec(),
            completed: None,
            pruned: 0,
            is_divided: false,
        }
    }

    /// The unit of a schedule that deviates from the schedule `parent`. Begins a late unit of this
    /// `name` if `parent` is one of the common schedules.
    fn unit_below(&mut self, parent: u32, name: u64) -> u32 {
        let unit = match parent {
            DEFAULT => SHARED,
            _ => self.units[parent as usize],
        };
        if unit != SHARED {
            return unit;
        }
        self.late.push(name);
        self.schedules.push(0);
        self.schedules.len() as u32 - 1
    }
}

/// Appends the schedules of `queue` that belong to `part` to `own`. Schedules with the same first
/// two deviations go to one part, because they mostly need the same late units. All parts get
/// about the same number of schedules.
fn deal(queue: &[u32], nodes: &ChunkedVec<Node>, part: Part, own: &mut EngineVec<u32>) {
    let mut seeds: EngineVec<(u32, u32)> = engine_vec();
    seeds.extend(queue.iter().map(|&seed| (group(seed, nodes), seed)));
    seeds.sort_unstable();
    let mut groups: EngineVec<&[(u32, u32)]> = engine_vec();
    groups.extend(seeds.chunk_by(|a, b| a.0 == b.0));
    groups.sort_unstable_by_key(|group| (Reverse(group.len()), group[0]));
    let mut taken: EngineVec<usize> = engine_vec();
    taken.resize(part.count as usize, 0);
    for group in groups {
        let places = taken.iter().enumerate();
        let least = places.min_by_key(|(_, taken)| **taken);
        let (place, _) = least.expect("there is a part");
        taken[place] += group.len();
        if place == part.index as usize {
            own.extend(group.iter().map(|seed| seed.1));
        }
    }
}

/// The ancestor of `node` that has only the first two deviations of `node`. Returns `node` itself
/// if it has at most two deviations.
fn group(mut node: u32, nodes: &ChunkedVec<Node>) -> u32 {
    let mut last = [node; 2];
    while node != DEFAULT {
        last = [node, last[0]];
        node = nodes[node as usize].parent;
    }
    last[1]
}

#[cfg(test)]
impl Icb {
    /// As [`Self::of_part`], but divides the space as early as possible.
    pub(crate) fn of_early_part(self, part: Part) -> Self {
        let mut search = self.of_part(part);
        if let Some(partition) = &mut search.partition {
            partition.enough = 1;
        }
        search
    }
}

impl Icb {
    /// Restricts the search to a part.
    pub fn of_part(mut self, part: Part) -> Self {
        if part.count > 1 {
            self.partition = Some(Partition::new(part));
        }
        self
    }

    /// Called at the beginning of a bound. Divides the space if enough schedules are queued:
    /// removes the queued schedules that belong to other parts.
    pub(super) fn divide(&mut self) {
        let Some(partition) = &mut self.partition else {
            return;
        };
        if partition.is_divided || self.now.len() < partition.enough {
            return;
        }
        partition.is_divided = true;
        partition.completed = self.completed;
        partition.pruned = self.possible.saturating_sub(self.needed);
        partition.units.resize(self.nodes.len(), SHARED);
        let mut own = engine_vec();
        deal(&self.now, &self.nodes, partition.part, &mut own);
        for &node in &own {
            partition.units[node as usize] = OWN;
        }
        let units = &partition.units;
        self.now.retain(|&node| units[node as usize] == OWN);
    }

    /// The results of this part. `None` if the search explores the whole space.
    pub(super) fn share_of_part(&self) -> Option<Share> {
        let partition = self.partition.as_ref()?;
        let Progress {
            bound_completed,
            pruned,
            complete,
            ..
        } = self.progress();
        let counts = &partition.schedules;
        let mut late = engine_vec();
        late.extend(
            partition
                .late
                .iter()
                .copied()
                .zip(counts[LATE as usize..].iter().copied()),
        );
        let is_divided = partition.is_divided;
        Some(Share {
            shared: counts[SHARED as usize],
            shared_pruned: if is_divided { partition.pruned } else { pruned },
            late,
            bound_completed: if is_divided {
                partition.completed
            } else {
                bound_completed
            },
            is_exhausted: is_divided && complete,
        })
    }

    /// Adds the schedule that begins to the count of its unit.
    pub(super) fn count_for_part(&mut self) {
        let node = self.path.last().copied();
        if let Some(partition) = &mut self.partition {
            let unit = match node {
                Some(node) if partition.is_divided => partition.units[node as usize],
                _ => SHARED,
            };
            partition.schedules[unit as usize] += 1;
        }
    }

    /// Records the unit of the newest node.
    pub(super) fn assign(&mut self) {
        if let Some(partition) = &mut self.partition
            && partition.is_divided
            && let Some(&Node {
                parent, deviation, ..
            }) = self.nodes.last()
        {
            let unit = partition.unit_below(parent, deviation.name());
            partition.units.push(unit);
        }
    }
}
