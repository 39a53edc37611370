//! Partition of the search space into parts, which several searches explore without communication.
//!
//! All parts first explore the same schedules. Once enough schedules are queued, each part keeps
//! its own share of them. A unit is a schedule with all schedules that deviate from it. The
//! contents of a unit depend only on its first schedule. The queued schedules that a part has kept
//! are its own unit. After the division, an execution may show that one more child of the common
//! schedules is needed: this child begins a late unit. Every part that needs a late unit explores
//! it. A late unit has the same name in all these parts, so that it can be counted only once. So
//! the parts together explore the same schedules as one search.

use core::cmp::Reverse;

use super::super::chunked_vec::ChunkedVec;
use super::{DEFAULT, Icb, Node, Progress, Strategy};
use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};

/// The index of a part, from 0, and the number of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// At least 1.
    pub count: u32,
}

impl Part {
    /// All of the space.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Whether this part takes the work that cannot be divided.
    pub fn is_first(self) -> bool {
        self.index == 0
    }
}

/// The partition of the space, and the units of this part.
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
    /// The state before the division: the largest completed bound, and the number of schedules that
    /// were pruned.
    completed: Option<u32>,
    pruned: u64,
    is_divided: bool,
}

/// The results of a part that are needed to merge all parts.
pub struct Share {
    /// The number of schedules that all parts have in common.
    pub shared: u64,
    /// The number of schedules that were pruned before the division.
    pub shared_pruned: u64,
    /// The name of each late unit, and the number of its schedules. Other parts may have explored
    /// the same unit.
    pub late: EngineVec<(u64, u64)>,
    /// The largest bound that was completed before the division, and so by all parts. Without a
    /// division: the largest completed bound.
    pub bound_completed: Option<u32>,
    /// The space is divided, and this part is finished.
    pub is_exhausted: bool,
}

/// The unit of the common schedules: all parts explored them before the division.
const SHARED: u32 = 0;
/// The unit of the queued schedules that this part has kept.
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

    /// The unit of a schedule that deviates from the schedule `parent`.
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
/// two deviations go to one part, because they mostly need the same other schedules. All parts get
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

/// The ancestor of `node` that has only its first two deviations. Returns `node` if it has fewer.
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

    /// Divides the space if a bound has just begun and enough schedules are queued: removes the
    /// queued schedules that belong to other parts.
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

    /// Counts the next schedule for its unit.
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
