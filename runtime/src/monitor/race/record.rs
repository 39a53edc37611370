//! The longer history of a granule: bytes with different ones, reads by several tasks,
//! atomic accesses.

use super::clock::{Clock, Epoch};
use super::shadow::Word;
use super::{Earlier, What};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Op, Site};

/// Bytes of a granule that have one history of plain accesses.
struct Segment {
    /// A bit for each byte.
    mask: u8,
    write: Word,
    /// The last ones, of tasks that had not heard of each other's.
    reads: EngineVec<Word>,
}

/// The last load or store of a task.
#[derive(Clone, Copy)]
struct Use {
    /// 0 if there is none.
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

/// What the last task with this entry in clocks did to an atomic: whoever knows of it knows
/// what earlier ones did.
struct Uses {
    entry: u16,
    load: Use,
    store: Use,
}

/// Bytes of a granule that are accessed atomically.
struct Atomic {
    mask: u8,
    /// What a load that acquires learns: the release sequence that its value is from.
    release: Clock,
    uses: EngineVec<Uses>,
}

/// All that is known of one granule.
pub(super) struct Record {
    segments: EngineVec<Segment>,
    atomics: EngineVec<Atomic>,
}

impl Record {
    /// A granule with at most an allocation, one write after it and one read after that.
    pub(super) fn new(allocation: Word, write: Word, read: Word) -> Self {
        let mut record = Self {
            segments: engine_vec(),
            atomics: engine_vec(),
        };
        record.renew(allocation, write, read);
        record
    }

    /// Makes the record serve another granule.
    pub(super) fn renew(&mut self, allocation: Word, write: Word, read: Word) {
        self.segments.clear();
        self.atomics.clear();
        for (word, is_write) in [(allocation, true), (write, true), (read, false)] {
            if word != Word::NONE {
                self.note(word, is_write);
            }
        }
    }

    /// Calls `each` with all earlier accesses that a plain access to these bytes conflicts with.
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

    /// Notes a write. Whoever conflicts with what was before conflicts with it, too.
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

    /// Notes a read; `is_known` says of an earlier one that it happened before.
    pub(super) fn read(&mut self, word: Word, is_known: impl Fn(Epoch) -> bool) {
        self.note_in_segments(word.extent().mask(), |segment| {
            segment.reads.retain(|read| !is_known(read.epoch()));
            segment.reads.push(word);
        });
    }

    /// Notes an atomic access; what its location releases to those that acquire.
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
            });
            self.atomics.len() - 1
        });
        let atomic = &mut self.atomics[place];
        let known = atomic.uses.iter().position(|uses| uses.entry == entry);
        let known = known.unwrap_or_else(|| {
            atomic.uses.push(Uses {
                entry,
                load: Use::NONE,
                store: Use::NONE,
            });
            atomic.uses.len() - 1
        });
        let uses = &mut atomic.uses[known];
        let own = Use { epoch, site, op };
        if is_write {
            uses.store = own;
        } else {
            uses.load = own;
        }
        &mut atomic.release
    }

    /// Notes a plain access, beside those before it unless it is a write.
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

    /// Notes something in the segments of some bytes, which get some of their own.
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
