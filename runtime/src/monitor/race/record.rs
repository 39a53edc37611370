//! The record of a granule: a history that does not fit into a cell, because its bytes have
//! different histories, several tasks read, or there are atomic accesses.

use super::clock::{Clock, Epoch};
use super::shadow::{Extent, Word};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Op, Site};

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The access reads.
    Read,
    /// The access writes.
    Write,
    /// The creation of a shared reference, through which the program may read.
    Borrow,
    /// The creation of a unique reference, through which the program may write.
    BorrowMut,
    /// The allocation of the memory's block, which counts as a write of the whole block.
    Allocation,
    /// The free of the memory.
    Free,
    /// The end of the task on whose stack the memory is.
    StackEnd,
    /// The end of the memory's mapping.
    Unmap,
    /// An atomic access. The flag: whether it writes.
    Atomic(Op, bool),
}

impl What {
    pub(super) fn is_write(self) -> bool {
        match self {
            Self::Write
            | Self::BorrowMut
            | Self::Allocation
            | Self::Free
            | Self::StackEnd
            | Self::Unmap => true,
            Self::Read | Self::Borrow => false,
            Self::Atomic(_, is_write) => is_write,
        }
    }
}

/// An access in the history of a granule.
#[derive(Clone, Copy)]
pub(super) struct Earlier {
    pub(super) epoch: Epoch,
    pub(super) site: Option<Site>,
    pub(super) what: What,
}

impl Earlier {
    pub(super) fn of_word(word: Word, is_write: bool) -> Self {
        Self {
            epoch: word.epoch(),
            site: word.site(),
            what: match (is_write, word.is_borrow()) {
                _ if word.extent() == Extent::OF_BLOCK => What::Allocation,
                (true, false) => What::Write,
                (true, true) => What::BorrowMut,
                (false, false) => What::Read,
                (false, true) => What::Borrow,
            },
        }
    }
}

/// Bytes of a granule with the same history of plain accesses.
struct Segment {
    /// A bit for each byte.
    mask: u8,
    write: Word,
    /// The last reads. None of them happened before another one.
    reads: EngineVec<Word>,
}

/// The last load or store of a task.
#[derive(Clone, Copy)]
struct Use {
    /// The epoch of the access; 0 if there was none.
    epoch: Epoch,
    site: Option<Site>,
    op: Op,
}

impl Use {
    const NONE: Self = Self {
        epoch: 0,
        site: None,
        op: Op::AtomicLoad,
    };
}

/// The accesses to an atomic by one task. Several tasks may have the same entry in the vector
/// clocks, one after the other. The accesses of the last one are enough: a task that knows of them
/// also knows of the accesses of the tasks before it.
struct Uses {
    /// The entry of the task in the vector clocks.
    entry: u16,
    load: Use,
    store: Use,
}

/// Bytes of a granule that are accessed atomically.
struct Atomic {
    mask: u8,
    /// The clock that an acquiring load learns: the clock of the release sequence of the current
    /// value.
    release: Clock,
    uses: EngineVec<Uses>,
    /// The index in `uses` of the last access. The next access often has the same task, and with
    /// many tasks a search for its entry takes long.
    last: u16,
}

/// The whole history of one granule.
pub(super) struct Record {
    segments: EngineVec<Segment>,
    atomics: EngineVec<Atomic>,
}

impl Record {
    /// The record of a granule with at most an allocation, a write after the allocation, and a
    /// read after the write.
    pub(super) fn new(allocation: Word, write: Word, read: Word) -> Self {
        let mut record = Self {
            segments: engine_vec(),
            atomics: engine_vec(),
        };
        record.renew(allocation, write, read);
        record
    }

    /// Makes the record that of another granule, with the history that [`Self::new`] describes.
    pub(super) fn renew(&mut self, allocation: Word, write: Word, read: Word) {
        self.segments.clear();
        self.atomics.clear();
        for (word, is_write) in [(allocation, true), (write, true), (read, false)] {
            if word != Word::NONE {
                self.note(word, is_write);
            }
        }
    }

    /// Calls `each` for all earlier accesses that conflict with a plain access to these bytes.
    pub(super) fn conflicts(&self, mask: u8, is_write: bool, mut each: impl FnMut(Earlier)) {
        for segment in self.segments.iter().filter(|s| s.mask & mask != 0) {
            segment.conflicts(is_write, &mut each);
        }
        for atomic in self.atomics.iter().filter(|a| a.mask & mask != 0) {
            for uses in &atomic.uses {
                if uses.store.epoch != 0 {
                    each(uses.store.earlier(true));
                }
                if is_write && uses.load.epoch != 0 {
                    each(uses.load.earlier(false));
                }
            }
        }
    }

    /// As [`Self::conflicts`], for an atomic access.
    pub(super) fn conflicts_of_atomic(
        &self,
        mask: u8,
        is_write: bool,
        mut each: impl FnMut(Earlier),
    ) {
        for segment in self.segments.iter().filter(|s| s.mask & mask != 0) {
            segment.conflicts(is_write, &mut each);
        }
    }

    /// Records a plain write. Removes the earlier accesses all of whose bytes are written: each
    /// later access that conflicts with them conflicts with the write, too.
    pub(super) fn write(&mut self, word: Word) {
        let mask = word.extent().mask();
        for atomic in self.atomics.iter_mut().filter(|a| a.mask & mask != 0) {
            if atomic.mask & !mask == 0 {
                atomic.uses.clear();
            }
            if !word.is_borrow() {
                atomic.release.clear();
            }
        }
        self.note(word, true);
    }

    /// Records a plain read. `is_known` returns whether the accesses of an epoch happened before
    /// this read.
    pub(super) fn read(&mut self, word: Word, is_known: impl Fn(Epoch) -> bool) {
        self.note_in_segments(word.extent().mask(), |segment| {
            segment.reads.retain(|read| !is_known(read.epoch()));
            segment.reads.push(word);
        });
    }

    /// Records an atomic access. Returns the clock that the location releases to acquiring
    /// accesses.
    pub(super) fn atomic(
        &mut self,
        mask: u8,
        (entry, epoch): (u16, Epoch),
        (op, is_write): (Op, bool),
        site: Option<Site>,
    ) -> &mut Clock {
        let place = self.atomics.iter().position(|a| a.mask == mask);
        let place = place.unwrap_or_else(|| {
            self.atomics.push(Atomic {
                mask,
                release: Clock::new(),
                uses: engine_vec(),
                last: 0,
            });
            self.atomics.len() - 1
        });
        let atomic = &mut self.atomics[place];
        let is_own = |uses: &Uses| uses.entry == entry;
        let last = atomic.last as usize;
        let known = match atomic.uses.get(last) {
            Some(uses) if is_own(uses) => Some(last),
            _ => atomic.uses.iter().position(is_own),
        };
        let known = known.unwrap_or_else(|| {
            atomic.uses.push(Uses {
                entry,
                load: Use::NONE,
                store: Use::NONE,
            });
            atomic.uses.len() - 1
        });
        // There are fewer entries than 2^16, because each one has another `entry`.
        atomic.last = known as u16;
        let uses = &mut atomic.uses[known];
        let own = Use { epoch, site, op };
        if is_write {
            uses.store = own;
        } else {
            uses.load = own;
        }
        &mut atomic.release
    }

    /// Records a plain access. A write replaces the earlier accesses.
    fn note(&mut self, word: Word, is_write: bool) {
        self.note_in_segments(word.extent().mask(), |segment| {
            if is_write {
                segment.write = word;
                segment.reads.clear();
            } else {
                segment.reads.push(word);
            }
        });
    }

    /// Calls `note` for the segments of some bytes. First splits the segments that contain other
    /// bytes, too.
    fn note_in_segments(&mut self, mask: u8, mut note: impl FnMut(&mut Segment)) {
        let mut rest = mask;
        for at in 0..self.segments.len() {
            let common = self.segments[at].mask & rest;
            if common == 0 {
                continue;
            }
            let left = self.segments[at].mask & !rest;
            if left != 0 {
                let segment = &mut self.segments[at];
                segment.mask = common;
                let other = Segment {
                    mask: left,
                    write: segment.write,
                    reads: segment.reads.clone(),
                };
                self.segments.push(other);
            }
            note(&mut self.segments[at]);
            rest &= !common;
        }
        if rest != 0 {
            let mut segment = Segment {
                mask: rest,
                write: Word::NONE,
                reads: engine_vec(),
            };
            note(&mut segment);
            self.segments.push(segment);
        }
    }
}

impl Segment {
    fn conflicts(&self, is_write: bool, each: &mut impl FnMut(Earlier)) {
        if self.write != Word::NONE {
            each(Earlier::of_word(self.write, true));
        }
        if is_write {
            for &read in &self.reads {
                each(Earlier::of_word(read, false));
            }
        }
    }
}

impl Use {
    fn earlier(self, is_write: bool) -> Earlier {
        Earlier {
            epoch: self.epoch,
            site: self.site,
            what: What::Atomic(self.op, is_write),
        }
    }
}
