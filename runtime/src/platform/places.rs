//! The source places of calls in the program, from the table that the linker has appended to the
//! executable ([`chess_vocabulary::places`]).
//!
//! The table is mapped near the executable. So the race detector can identify a place of the table
//! by few bits, in the same way as a place that the compiler has put into the executable.
//!
//! The [`Location`] of a place is made when it is needed for the first time, because a test uses
//! few of the places of its binary. It is made in memory that forked processes share: a process
//! reads the failures and the trace of its child, which refer to the locations.

use core::panic::Location;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use chess_vocabulary::places::{Entry, Places, Position, RECORD, TRAILER, trailer};

use super::executable;
use crate::base::sys;

/// The number of slots in the cache of entries. A power of two.
const CACHED: usize = 1 << 15;
/// The number of slots in the cache of the source lines of calls in code of the program. A power
/// of two.
const PROGRAM_CALLS: usize = 1 << 13;
/// The maximum number of callers that [`outside_library`] visits.
const MOST_CALLERS: usize = 256;
/// The minimum distance of the table from the executable.
const GAP: usize = 1 << 20;

const _: () = assert!(size_of::<Record>() == size_of::<Location<'static>>());
const _: () = assert!(align_of::<Record>() == align_of::<Location<'static>>());
const _: () = assert!(size_of::<Record>() == RECORD);

/// The address of the loaded table; 0 if there is none, or [`UNLOADED`].
static TABLE: AtomicUsize = AtomicUsize::new(0);

/// The address of the table, also after [`unload`]; 0 if there is none.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// The table in memory.
struct Table {
    /// The start of the executable.
    executable: usize,
    places: Places<'static>,
    /// The records of the places.
    records: *const Record,
    /// The bounds of the memory of the table.
    bounds: (usize, usize),
    program_calls: [ProgramCall; PROGRAM_CALLS],
    cache: [Cached; CACHED],
}

/// A slot of the cache of source lines: a call in code of the program, by the address to which it
/// returns, and its source line. A slot of new memory is zero, and so has no line.
#[derive(Clone, Copy)]
struct ProgramCall {
    address: usize,
    site: Option<&'static Location<'static>>,
}

/// A slot of the cache of entries: a call, by the distance of its return address from the start of
/// the executable, and its entry in the table; `None` if the table has no entry for the call.
#[derive(Clone, Copy)]
struct Cached {
    call: u32,
    entry: Option<Entry>,
}

/// The layout of a [`Location`]. A record that was not made is zero.
#[repr(C)]
struct Record {
    file: AtomicUsize,
    length: AtomicUsize,
    /// Written last. No record that was made has line 0.
    line: AtomicU32,
    column: AtomicU32,
}

/// The place of a call.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    entry: Entry,
    records: *const Record,
}

impl Place {
    /// Whether all code at the place belongs to the standard library.
    #[inline]
    pub(crate) fn is_of_library(self) -> bool {
        self.entry.is_of_library()
    }

    /// Whether the runtime must ignore the accesses that the call announces, because they are not
    /// accesses of the program.
    #[inline]
    pub(crate) fn is_ignored(self) -> bool {
        self.entry.is_ignored()
    }

    /// The source line.
    #[inline]
    pub(crate) fn site(self) -> &'static Location<'static> {
        let place = self.entry.place();
        // SAFETY: there is a record of each place, and `find` returns no other index.
        let record = unsafe { &*self.records.add(place) };
        if record.line.load(Ordering::Acquire) == 0 {
            record.make(mapped_table().and_then(|table| table.places.position(place)));
        }
        // SAFETY: the record was made, has the layout of a `Location`, and does not change.
        unsafe { &*(&raw const *record).cast() }
    }
}

impl Record {
    /// Makes the record. Several processes may do this at the same time: they write the same.
    #[cold]
    fn make(&self, position: Option<Position<'static>>) {
        let position = position.unwrap_or(Position {
            file: "a damaged table of places",
            line: 1,
            column: 1,
        });
        self.file
            .store(position.file.as_ptr().addr(), Ordering::Relaxed);
        self.length.store(position.file.len(), Ordering::Relaxed);
        self.column.store(position.column, Ordering::Relaxed);
        self.line.store(position.line.max(1), Ordering::Release);
    }
}

/// Loads the table. Call it once, before the first fork. A program without a table has no places.
pub(crate) fn load() {
    // Without a table that can be read, no access has a place, and the report says so.
    let _ = try_load();
}

fn try_load() -> io::Result<()> {
    let file = File::open("/proc/self/exe")?;
    let length = file.metadata()?.len();
    let mut bytes = [0; TRAILER];
    let Some(start) = length.checked_sub(TRAILER as u64) else {
        return Ok(());
    };
    file.read_exact_at(&mut bytes, start)?;
    let Some((offset, size)) = trailer(&bytes) else {
        return Ok(());
    };
    let head = size_of::<Table>().next_multiple_of(sys::PAGE);
    let body = size.next_multiple_of(sys::PAGE);
    // The records here are as many and as long as those in the table.
    let whole = head + body + body;
    let (low, high) = executable::bounds();
    let below = low.saturating_sub(whole + GAP);
    let above = high + 16 * GAP;
    let mut candidates = [below, above].map(|at| at & !(sys::PAGE - 1)).into_iter();
    let is_mapped = |&base: &usize| base >= GAP && sys::map_fixed(base, whole, false);
    let Some(base) = candidates.find(is_mapped) else {
        return Ok(());
    };
    let records = base + head;
    // SAFETY: the memory was just mapped, and nothing refers to it.
    unsafe {
        let (from, file) = (records + body, file.as_raw_fd());
        if !sys::map_shared_at(records, body) || !sys::map_file(from, size, file, offset) {
            return Ok(());
        }
        let bytes = core::slice::from_raw_parts(from as *const u8, size);
        let Some(places) = Places::new(bytes) else {
            return Ok(());
        };
        // The slots of the caches are zero: they are empty.
        let table = base as *mut Table;
        (&raw mut (*table).executable).write(low);
        (&raw mut (*table).places).write(places);
        (&raw mut (*table).records).write(records as *const Record);
        (&raw mut (*table).bounds).write((base, base + whole));
        TABLE.store(base, Ordering::Relaxed);
        MAPPED.store(base, Ordering::Relaxed);
    }
    Ok(())
}

#[inline]
fn table() -> Option<&'static mut Table> {
    let address = TABLE.load(Ordering::Relaxed);
    if address <= UNLOADED {
        return None;
    }
    // SAFETY: `load` made it.
    Some(unsafe { table_at(address) })
}

/// # Safety
///
/// `load` has made a table at `address`.
#[inline]
unsafe fn table_at(address: usize) -> &'static mut Table {
    // SAFETY: the caller's promise. One thread at a time runs tasks and the engine, and no
    // reference outlives a function of this module.
    unsafe { &mut *(address as *mut Table) }
}

/// The table, also after [`unload`].
fn mapped_table() -> Option<&'static mut Table> {
    let address = MAPPED.load(Ordering::Relaxed);
    // SAFETY: `load` made it.
    (address != 0).then(|| unsafe { table_at(address) })
}

/// Stands for the address of a table that was forgotten.
const UNLOADED: usize = 1;

/// Forgets the table, if there is one. From now on no call has a place.
pub(crate) fn unload() {
    if are_loaded() {
        TABLE.store(UNLOADED, Ordering::Relaxed);
    }
}

/// Whether [`unload`] has forgotten a table.
pub(crate) fn are_unloaded() -> bool {
    TABLE.load(Ordering::Relaxed) == UNLOADED
}

/// Whether the program has a table, because it is instrumented.
pub(crate) fn are_loaded() -> bool {
    table().is_some()
}

/// The bounds of the memory that contains all places; `None` if no table is loaded.
pub(crate) fn bounds() -> Option<(usize, usize)> {
    table().map(|table| table.bounds)
}

/// The source line of a call in code of the program, by the address to which the call returns.
/// `None` if [`of_program_call`] has not recorded it, or another call took its slot in the cache.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is asked before each access in the user's code"
)]
pub(crate) fn of_known_call(address: usize) -> Option<&'static Location<'static>> {
    let call = table()?.program_calls[slot_of_program_call(address)];
    if call.address == address {
        call.site
    } else {
        None
    }
}

/// The source line of `place`, the place of a call in code of the program that returns to
/// `address`. Records the line for [`of_known_call`].
pub(crate) fn of_program_call(address: usize, place: Place) -> &'static Location<'static> {
    let site = place.site();
    if let Some(table) = table() {
        table.program_calls[slot_of_program_call(address)] = ProgramCall {
            address,
            site: Some(site),
        };
    }
    site
}

#[inline(always)]
fn slot_of_program_call(address: usize) -> usize {
    const FACTOR: usize = 0x9E37_79B9_7F4A_7C15;
    address.wrapping_mul(FACTOR) >> (usize::BITS - PROGRAM_CALLS.trailing_zeros())
}

/// The place of a call, by the address to which the call returns; `None` if the place is unknown.
#[inline]
pub(crate) fn of_call(address: usize) -> Option<Place> {
    table()?.of_call(address)
}

/// As [`of_call`], also after [`unload`].
pub(crate) fn of_call_if_mapped(address: usize) -> Option<Place> {
    mapped_table()?.of_call(address)
}

impl Table {
    #[inline]
    fn of_call(&mut self, address: usize) -> Option<Place> {
        let call = u32::try_from(address.wrapping_sub(self.executable)).ok()?;
        let at = (call.wrapping_mul(0x9E37_79B1) >> (u32::BITS - CACHED.trailing_zeros())) as usize;
        let cached = &mut self.cache[at];
        if cached.call != call {
            *cached = Cached {
                call,
                entry: self.places.find(call),
            };
        }
        Some(Place {
            entry: cached.entry?,
            records: self.records,
        })
    }
}

/// For a place in the library: the source line of the innermost caller that is outside the
/// library. `frame` is the frame pointer of the function at `place`, on a stack that ends at
/// `end`. If no such caller is found, the result is the line of `place` itself. `None` if the
/// accesses at the place of the result are not accesses of the program ([`Place::is_ignored`]).
pub(crate) fn outside_library(
    place: Place,
    frame: usize,
    end: usize,
) -> Option<&'static Location<'static>> {
    let callers = Callers {
        frame,
        above: (&raw const frame).addr(),
        end,
    };
    let callers = callers.take(MOST_CALLERS).filter_map(of_call);
    let mut outside = callers.filter(|caller| !caller.is_of_library());
    let place = outside.next().unwrap_or(place);
    (!place.is_ignored()).then(|| place.site())
}

/// The return addresses on a stack, the innermost first.
struct Callers {
    frame: usize,
    /// The next frame must lie above this address, and below `end`.
    above: usize,
    end: usize,
}

impl Iterator for Callers {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        const FRAME: usize = 2 * size_of::<usize>();
        let frame = self.frame;
        // A function of std without a frame pointer may have left any number in the register.
        let is_frame = frame.is_multiple_of(size_of::<usize>())
            && self.above < frame
            && frame.saturating_add(FRAME) <= self.end;
        if !is_frame {
            return None;
        }
        self.above = frame;
        // SAFETY: the words lie in the used part of the running task's stack.
        unsafe {
            let words = frame as *const usize;
            self.frame = words.read();
            Some(words.add(1).read())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmade() -> Record {
        Record {
            file: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            line: AtomicU32::new(0),
            column: AtomicU32::new(0),
        }
    }

    #[test]
    fn a_record_that_was_made_is_a_location() {
        // All numbers differ, so that no two fields can be exchanged.
        let position = Position {
            file: "src/lib.rs",
            line: 7,
            column: 9,
        };
        let record = unmade();
        record.make(Some(position));
        // SAFETY: as in `Place::site`.
        let made: &Location<'static> = unsafe { &*(&raw const record).cast() };
        assert_eq!(made.file(), position.file);
        assert_eq!((made.line(), made.column()), (7, 9));
    }

    #[test]
    fn a_record_of_a_damaged_table_is_a_location_too() {
        let record = unmade();
        record.make(None);
        assert_ne!(record.line.load(Ordering::Relaxed), 0);
    }
}
