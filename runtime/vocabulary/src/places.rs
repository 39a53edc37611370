//! The table of places at the end of a test binary. It maps return addresses to source lines.
//!
//! The tool appends the table when it links the binary. The runtime maps it and looks up the
//! return addresses of the hooks that announce accesses to memory, without allocation. All numbers
//! are little-endian, and all parts begin at multiples of eight bytes.
//!
//! ```text
//! the linked program, padding to a multiple of 4096, the table, the trailer
//!
//! table    header, calls, places, names
//! header   offset and count of the calls, offset and count of the places,
//!          offset and length of the names: six u64; offsets are from the start of the table
//! calls    (address: u32, entry: u32), sorted by address
//! places   (offset of the file's name: u64, its length: u64, line: u32, column: u32)
//! names    UTF-8, without separators
//! trailer  magic of 16 bytes, offset of the table in the file: u64, its length: u64
//! ```

use std::collections::HashMap;
use std::num::NonZeroU32;

/// The first bytes of the trailer. Each version of the format has its own.
const MAGIC: [u8; 16] = *b"chess places v2\n";

/// The length of the trailer in bytes.
pub const TRAILER: usize = 32;

/// The file offset of a table is a multiple of this number of bytes, so that the table can be
/// mapped alone.
pub const ALIGNMENT: usize = 4096;

/// The length in bytes of the record of a place.
pub const RECORD: usize = 24;

const HEADER: usize = 48;
const CALL: usize = 8;

const LIBRARY: u32 = 1 << 31;
const IGNORED: u32 = 1 << 30;
const INDEX: u32 = IGNORED - 1;

/// The entry of a return address in the table: the index of a place plus 1, and two flags. Zeroed
/// memory is a valid `Option<Entry>`, and contains `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Entry(NonZeroU32);

impl Entry {
    /// The entry of a call at the place with this index, which is below 2^30 - 1.
    pub fn new(place: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(place % INDEX))
    }

    /// This entry, marked as belonging to the standard library.
    #[must_use]
    pub fn of_library(self) -> Self {
        Self(self.0 | LIBRARY)
    }

    /// This entry, marked as ignored: the accesses in the call are not accesses of the program.
    /// The call announces a read that the machine code does not make, or is in code of the
    /// runtime.
    #[must_use]
    pub fn ignored(self) -> Self {
        Self(self.0 | IGNORED)
    }

    /// The index of the place.
    #[inline]
    pub fn place(self) -> usize {
        // A damaged entry can lack the 1.
        (self.0.get() & INDEX).wrapping_sub(1) as usize
    }

    /// Whether all functions at the place, also inlined ones, belong to the standard library. If
    /// so, the place is a line of the library; the line of the program is that of a caller.
    #[inline]
    pub fn is_of_library(self) -> bool {
        self.0.get() & LIBRARY != 0
    }

    /// Whether the accesses in the call are not those of the program.
    #[inline]
    pub fn is_ignored(self) -> bool {
        self.0.get() & IGNORED != 0
    }
}

/// A position in the sources.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position<'a> {
    /// The name of the file, as it was passed to rustc.
    pub file: &'a str,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1.
    pub column: u32,
}

/// A table that is being made.
#[derive(Default, Debug)]
pub struct Table {
    calls: Vec<(u32, Entry)>,
    places: Vec<Record>,
    place_indices: HashMap<Record, u32>,
    names: String,
    /// The offset of each name in `names`.
    name_offsets: HashMap<String, usize>,
}

/// A place. The name of its file is given by its offset in the names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Record {
    name: usize,
    name_length: usize,
    line: u32,
    column: u32,
}

impl Table {
    /// Creates a table without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a position, or finds it, and returns its index.
    ///
    /// # Panics
    ///
    /// If there are 2^30 - 1 places already.
    pub fn place(&mut self, position: Position<'_>) -> u32 {
        let name = if let Some(offset) = self.name_offsets.get(position.file) {
            *offset
        } else {
            let offset = self.names.len();
            self.names.push_str(position.file);
            self.name_offsets.insert(position.file.to_owned(), offset);
            offset
        };
        let record = Record {
            name,
            name_length: position.file.len(),
            line: position.line,
            column: position.column,
        };
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        *self.place_indices.entry(record).or_insert_with(|| {
            assert!(next < INDEX, "a program has fewer places");
            self.places.push(record);
            next
        })
    }

    /// Adds the entry of a return address, which is relative to the start of the program in
    /// memory. Of several entries of an address, the first one counts.
    pub fn add(&mut self, address: u32, entry: Entry) {
        self.calls.push((address, entry));
    }

    /// The table's bytes. Their number is a multiple of eight.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.calls.sort_by_key(|(address, _)| *address);
        self.calls.dedup_by_key(|(address, _)| *address);
        let places_at = HEADER + self.calls.len() * CALL;
        let names_at = places_at + self.places.len() * RECORD;
        let mut bytes = Vec::with_capacity(names_at + self.names.len() + 8);
        for number in [
            HEADER,
            self.calls.len(),
            places_at,
            self.places.len(),
            names_at,
            self.names.len(),
        ] {
            bytes.extend(word(number));
        }
        for (address, entry) in self.calls {
            bytes.extend(address.to_le_bytes());
            bytes.extend(entry.0.get().to_le_bytes());
        }
        for place in self.places {
            bytes.extend(word(names_at + place.name));
            bytes.extend(word(place.name_length));
            bytes.extend(place.line.to_le_bytes());
            bytes.extend(place.column.to_le_bytes());
        }
        bytes.extend(self.names.bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

/// The last bytes of a file whose table has this offset and length.
pub fn trailer_of(offset: usize, length: usize) -> [u8; TRAILER] {
    let mut bytes = [0; TRAILER];
    bytes[..16].copy_from_slice(&MAGIC);
    bytes[16..24].copy_from_slice(&word(offset));
    bytes[24..].copy_from_slice(&word(length));
    bytes
}

/// Reads the offset and the length of the table from the last bytes of the file. Returns `None` if
/// the file has no table of this version.
pub fn trailer(bytes: &[u8]) -> Option<(usize, usize)> {
    let start = bytes.len().checked_sub(TRAILER)?;
    let (magic, numbers) = bytes[start..].split_at(MAGIC.len());
    if magic != MAGIC {
        return None;
    }
    let offset = usize::try_from(number(numbers, 0)?).ok()?;
    let length = usize::try_from(number(numbers, 8)?).ok()?;
    offset.checked_add(length)?;
    let is_aligned = offset.is_multiple_of(ALIGNMENT) && length.is_multiple_of(8);
    is_aligned.then_some((offset, length))
}

/// A table in memory.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    bytes: &'a [u8],
    calls: &'a [[[u8; 4]; 2]],
    records: usize,
    count: usize,
}

impl<'a> Places<'a> {
    /// Reads the header of a table. Returns `None` if the parts do not lie within `bytes`.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let part = |at: usize, size: usize| {
            let start = usize::try_from(number(bytes, at)?).ok()?;
            let count = usize::try_from(number(bytes, at + 8)?).ok()?;
            let end = start.checked_add(count.checked_mul(size)?)?;
            let is_sound = start.is_multiple_of(8) && start >= HEADER && end <= bytes.len();
            is_sound.then_some((start, end, count))
        };
        let (calls, end, _) = part(0, CALL)?;
        let (records, _, count) = part(16, RECORD)?;
        part(32, 1)?;
        Some(Self {
            bytes,
            calls: pairs(&bytes[calls..end]),
            records,
            count,
        })
    }

    /// Finds the entry of a return address, which is relative to the start of the program in
    /// memory.
    pub fn find(&self, address: u32) -> Option<Entry> {
        let calls = self.calls;
        let at = calls.binary_search_by_key(&address, |[address, _]| u32::from_le_bytes(*address));
        let [_, entry] = calls[at.ok()?];
        let entry = Entry(NonZeroU32::new(u32::from_le_bytes(entry))?);
        (entry.place() < self.count).then_some(entry)
    }

    /// The number of places.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The offset in the table of the places' records, each of which is [`RECORD`] bytes long.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The name of the file of a place. `None` if the place does not exist.
    fn file(&self, place: usize) -> Option<&'a str> {
        let record = self.record(place)?;
        let start = usize::try_from(number(record, 0)?).ok()?;
        let end = start.checked_add(usize::try_from(number(record, 8)?).ok()?)?;
        str::from_utf8(self.bytes.get(start..end)?).ok()
    }

    /// The position of a place. `None` if the place does not exist.
    pub fn position(&self, place: usize) -> Option<Position<'a>> {
        let [line, column] = *pairs(&self.record(place)?[16..]).first()?;
        Some(Position {
            file: self.file(place)?,
            line: u32::from_le_bytes(line),
            column: u32::from_le_bytes(column),
        })
    }

    fn record(&self, place: usize) -> Option<&'a [u8]> {
        let at = self.records + (place < self.count).then_some(place)? * RECORD;
        self.bytes.get(at..at + RECORD)
    }
}

fn word(number: usize) -> [u8; 8] {
    (number as u64).to_le_bytes()
}

/// The little-endian number in the eight bytes from `at` on.
fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

/// Bytes as pairs of numbers of four bytes.
fn pairs(bytes: &[u8]) -> &[[[u8; 4]; 2]] {
    bytes.as_chunks().0.as_chunks().0
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: Position<'_> = Position {
        file: "src/lib.rs",
        line: 7,
        column: 9,
    };

    fn table() -> Vec<u8> {
        let mut table = Table::new();
        let users = table.place(USERS);
        let of_core = table.place(Position {
            file: "/rustc/0/library/core/src/option.rs",
            ..USERS
        });
        assert_eq!(table.place(USERS), users);
        table.add(0x30, Entry::new(users).ignored());
        table.add(0x10, Entry::new(users));
        table.add(0x20, Entry::new(of_core).of_library());
        table.into_bytes()
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let bytes = table();
        assert!(bytes.len().is_multiple_of(8));
        let places = Places::new(&bytes).expect("a table");
        assert_eq!(places.count(), 2);
        let first = places.find(0x10).expect("an entry");
        assert!(!first.is_of_library() && !first.is_ignored());
        assert_eq!(places.position(first.place()), Some(USERS));
        let second = places.find(0x20).expect("an entry");
        assert!(second.is_of_library() && !second.is_ignored());
        let position = places.position(second.place()).expect("a place");
        assert_eq!(position.file, "/rustc/0/library/core/src/option.rs");
        let third = places.find(0x30).expect("an entry");
        assert!(!third.is_of_library() && third.is_ignored());
        assert_eq!(third.place(), first.place());
    }

    #[test]
    fn a_place_that_does_not_exist_has_no_position() {
        let bytes = table();
        let places = Places::new(&bytes).expect("a table");
        assert!(places.position(1).is_some());
        assert_eq!(places.position(2), None);
        assert_eq!(places.position(usize::MAX), None);
    }

    #[test]
    fn zeroed_memory_has_no_entry() {
        // A cache of the runtime relies on this.
        assert_eq!(size_of::<Option<Entry>>(), size_of::<u32>());
        assert_eq!(Entry::new(0).0.get(), 1);
        assert_eq!(Entry::new(0).of_library().place(), 0);
        assert_eq!(
            Entry::new(INDEX - 1).ignored().place(),
            (INDEX - 1) as usize
        );
    }

    #[test]
    fn other_addresses_have_no_entry() {
        let bytes = table();
        let places = Places::new(&bytes).expect("a table");
        for address in [0, 0xf, 0x11, 0x31, u32::MAX] {
            assert_eq!(places.find(address), None, "{address:#x}");
        }
        let bytes = Table::new().into_bytes();
        let places = Places::new(&bytes).expect("a table");
        assert_eq!(places.find(0x10), None);
        assert_eq!(places.count(), 0);
    }

    #[test]
    fn the_first_of_two_entries_counts() {
        let mut table = Table::new();
        let one = table.place(USERS);
        let other = table.place(Position { line: 8, ..USERS });
        table.add(1, Entry::new(other));
        table.add(1, Entry::new(one));
        let bytes = table.into_bytes();
        let places = Places::new(&bytes).expect("a table");
        assert_eq!(places.find(1), Some(Entry::new(other)));
    }

    #[test]
    fn a_trailer_leads_to_its_table() {
        let mut file = b"the program".to_vec();
        file.extend(trailer_of(0x2000, 80));
        assert_eq!(trailer(&file), Some((0x2000, 80)));
        assert_eq!(trailer(&trailer_of(0x2000, 80)), Some((0x2000, 80)));
    }

    #[test]
    fn a_damaged_trailer_leads_nowhere() {
        let whole = trailer_of(0x2000, 80);
        assert_eq!(trailer(&whole[1..]), None);
        assert_eq!(trailer(&[]), None);
        for at in 0..MAGIC.len() {
            let mut damaged = whole;
            damaged[at] ^= 1;
            assert_eq!(trailer(&damaged), None, "byte {at}");
        }
        assert_eq!(trailer(&trailer_of(0x2008, 80)), None);
        assert_eq!(trailer(&trailer_of(0x2000, 81)), None);
        assert_eq!(trailer(&trailer_of(0x2000, usize::MAX - 7)), None);
    }

    #[test]
    fn a_damaged_table_gives_no_wrong_memory() {
        let whole = table();
        for length in 0..whole.len() {
            // Whatever is missing, nothing panics.
            if let Some(places) = Places::new(&whole[..length]) {
                let _ = (places.find(0x10), places.position(0), places.position(1));
            }
        }
        assert!(Places::new(&whole[..HEADER]).is_none());
        for at in 0..HEADER {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x80;
            if let Some(places) = Places::new(&damaged) {
                let _ = (places.find(0x10), places.position(0), places.position(1));
            }
        }
        for at in [0, 8, 16, 24, 32, 40] {
            let mut damaged = whole.clone();
            damaged[at..at + 8].fill(0xff);
            assert!(Places::new(&damaged).is_none(), "word at {at}");
        }
    }

    #[test]
    fn an_entry_with_an_unknown_place_is_not_found() {
        let mut table = Table::new();
        table.place(USERS);
        table.add(1, Entry::new(1));
        let bytes = table.into_bytes();
        assert_eq!(Places::new(&bytes).expect("a table").find(1), None);
    }

    #[test]
    fn a_name_outside_of_the_table_is_no_position() {
        let mut bytes = table();
        let record = Places::new(&bytes).expect("a table").records();
        bytes[record..record + 8].fill(0xff);
        let places = Places::new(&bytes).expect("a table");
        assert_eq!(places.position(0), None);
        assert!(places.position(1).is_some());
    }
}
