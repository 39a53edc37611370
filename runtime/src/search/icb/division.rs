//! A part of the search's space, explored beside others by searches that know nothing of each other.
//!
//! All parts begin alike. Once enough schedules are queued, each part keeps those whose
//! turn is its own: they and the schedules that deviate from them are its units. What a
//! unit holds depends on nothing but the schedule that it begins with. A unit that none
//! had queued by then, since only one of another part shows that it is needed, is
//! explored by every part that comes to need it, and named, so that it can be counted
//! once. So the parts together explore what one search explores.

use core::cmp::Reverse;

use super::super::chunks::Chunks;
use super::{DEFAULT, Icb, Node, Progress, Strategy};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::stored::stored;

/// Which part it is, from 0, of how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) index: u32,
    pub(crate) count: u32,
}

impl Part {
    /// All of the space.
    pub(crate) const WHOLE: Self = Self { index: 0, count: 1 };

    /// Whether what cannot be divided is this one's.
    pub(crate) fn is_first(self) -> bool {
        self.index == 0
    }
}

/// How a part came to be one, and what is in it.
pub(crate) struct Division {
    part: Part,
    /// So many schedules are queued before the space is divided.
    enough: usize,
    /// The unit of each node, once the space is divided.
    units: EngineVec<u32>,
    /// How many schedules of each unit were run.
    schedules: EngineVec<u64>,
    /// The names of the units that were found later than the others.
    late: EngineVec<u64>,
    /// What was known before.
    completed: Option<u32>,
    pruned: u64,
    is_divided: bool,
}

/// What a part has to tell, so that all parts can be put together.
pub(crate) struct Share {
    /// How many schedules all parts have in common, and what they left out before.
    pub(crate) shared: u64,
    pub(crate) shared_pruned: u64,
    /// The units that other parts may have come to, too, and their schedules.
    pub(crate) late: EngineVec<(u64, u64)>,
    /// The bound of which nothing is left in any part.
    pub(crate) bound_completed: Option<u32>,
    /// Nothing is left of this part, and it is not all there is.
    pub(crate) is_exhausted: bool,
}

/// The unit of what all parts have explored.
const SHARED: u32 = 0;
/// That of the schedules whose turn is this part's.
const OWN: u32 = 1;
/// The first one that was found late.
const LATE: u32 = 2;

/// So many schedules for each part are enough to divide the space.
const SEEDS: usize = 64;

stored!(Part { index, count });
stored!(Division {
    part,
    enough,
    units,
    schedules,
    late,
    completed,
    pruned,
    is_divided
});
stored!(Share {
    shared,
    shared_pruned,
    late,
    bound_completed,
    is_exhausted
});

impl Division {
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

/// Appends those of `queue` that are the part's. What has the first two deviations in
/// common goes to one part: it mostly needs what that part has anyway. All get about as
/// many.
fn deal(queue: &[u32], nodes: &Chunks<Node>, part: Part, own: &mut EngineVec<u32>) {
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

/// The schedule of the first two deviations of another one.
fn group(mut node: u32, nodes: &Chunks<Node>) -> u32 {
    let mut last = [node; 2];
    while node != DEFAULT {
        last = [node, last[0]];
        node = nodes[node as usize].parent;
    }
    last[1]
}

#[cfg(test)]
impl Icb {
    /// The search of a part that differs from others as soon as possible.
    pub(in crate::search) fn of_early_part(self, part: Part) -> Self {
        let mut search = self.of_part(part);
        if let Some(division) = &mut search.division {
            division.enough = 1;
        }
        search
    }
}

impl Icb {
    /// The search of a part.
    pub(crate) fn of_part(mut self, part: Part) -> Self {
        if part.count > 1 {
            self.division = Some(Division::new(part));
        }
        self
    }

    /// At the beginning of a bound: leaves the schedules to others that are theirs, as
    /// soon as there are enough.
    pub(super) fn divide(&mut self) {
        let Some(division) = &mut self.division else {
            return;
        };
        if division.is_divided || self.now.len() < division.enough {
            return;
        }
        division.is_divided = true;
        division.completed = self.completed;
        division.pruned = self.possible.saturating_sub(self.needed);
        division.units.resize(self.nodes.len(), SHARED);
        let mut own = engine_vec();
        deal(&self.now, &self.nodes, division.part, &mut own);
        for &node in &own {
            division.units[node as usize] = OWN;
        }
        let units = &division.units;
        self.now.retain(|&node| units[node as usize] == OWN);
    }

    /// What there is to tell of the part, if it is one.
    pub(super) fn tell_share(&self) -> Option<Share> {
        let division = self.division.as_ref()?;
        let Progress {
            bound_completed,
            pruned,
            complete,
            ..
        } = self.progress();
        let counts = &division.schedules;
        let mut late = engine_vec();
        late.extend(
            division
                .late
                .iter()
                .copied()
                .zip(counts[LATE as usize..].iter().copied()),
        );
        let is_divided = division.is_divided;
        Some(Share {
            shared: counts[SHARED as usize],
            shared_pruned: if is_divided { division.pruned } else { pruned },
            late,
            bound_completed: if is_divided {
                division.completed
            } else {
                bound_completed
            },
            is_exhausted: is_divided && complete,
        })
    }

    /// Counts the schedule that is next.
    pub(super) fn count_for_part(&mut self) {
        let node = self.path.last().copied();
        if let Some(division) = &mut self.division {
            let unit = match node {
                Some(node) if division.is_divided => division.units[node as usize],
                _ => SHARED,
            };
            division.schedules[unit as usize] += 1;
        }
    }

    /// Notes to whom the newest node belongs.
    pub(super) fn assign(&mut self) {
        if let Some(division) = &mut self.division
            && division.is_divided
            && let Some(&Node {
                parent, deviation, ..
            }) = self.nodes.last()
        {
            let unit = division.unit_below(parent, deviation.name());
            division.units.push(unit);
        }
    }
}
