//! The mappings that share memory with a file. If a part of a file is mapped twice, one byte has
//! two addresses, and the engine takes them for different places.

use core::ffi::c_int;

use super::inode::Inode;
use crate::base::memory::{EngineVec, engine_vec};

/// A mapping, from the address `low` to `high`.
struct SharedMap {
    inode: Inode,
    /// The part of the file, by its first byte and its end.
    part: (u64, u64),
    low: usize,
    high: usize,
}

/// The mappings of one execution.
pub(in super::super) struct SharedMaps(EngineVec<SharedMap>);

impl SharedMaps {
    pub(super) const fn new() -> Self {
        Self(engine_vec())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Records that the file of `descriptor`, from the byte `offset` on, was mapped at the
    /// addresses `low` to `high`. Returns whether a part of the file is mapped twice now.
    pub(in super::super) fn mapped(
        &mut self,
        descriptor: c_int,
        offset: i64,
        (low, high): (usize, usize),
    ) -> bool {
        self.unmapped(low, high);
        let start = offset.cast_unsigned();
        let part = (start, start.saturating_add((high - low) as u64));
        Inode::of(descriptor).is_some_and(|inode| {
            self.add(SharedMap {
                inode,
                part,
                low,
                high,
            })
        })
    }

    fn add(&mut self, map: SharedMap) -> bool {
        let overlaps = |other: &SharedMap| {
            other.inode.is(map.inode) && other.part.0 < map.part.1 && map.part.0 < other.part.1
        };
        let is_second = self.0.iter().any(overlaps);
        self.0.push(map);
        is_second
    }

    /// Records that the mappings in this memory ended.
    pub(in super::super) fn unmapped(&mut self, low: usize, high: usize) {
        self.0.retain(|map| map.low < low || high < map.high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(number: u64, part: (u64, u64), low: usize) -> SharedMap {
        SharedMap {
            inode: Inode {
                number,
                ..Inode::NONE
            },
            part,
            low,
            high: low + 4096,
        }
    }

    #[test]
    fn a_part_of_a_file_that_is_mapped_twice_is_recognised() {
        let mut maps = SharedMaps::new();
        assert!(!maps.add(map(1, (0, 4096), 0x1000)));
        assert!(!maps.add(map(2, (0, 4096), 0x3000)), "another file");
        assert!(!maps.add(map(1, (4096, 8192), 0x5000)), "another part");
        maps.unmapped(0x1000, 0x2000);
        assert!(!maps.add(map(1, (0, 4096), 0x7000)), "after the first one");
        assert!(maps.add(map(1, (0, 8192), 0x9000)));
    }
}
