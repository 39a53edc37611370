//! The symbols of ELF files for x86-64: objects and shared libraries.

/// A symbol, and whether the file defines or uses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol<'a> {
    /// A function that other files can call. It is defined in this file.
    Function(&'a str),
    /// Another symbol that other files can use. It is defined in this file.
    Other(&'a str),
    /// A symbol that this file uses and another file defines.
    Undefined(&'a str),
}

const MAGIC: &[u8] = b"\x7fELF\x02\x01";

/// The type of the section with all symbols of a file.
const SYMBOLS: u32 = 2;
/// The type of the section with the symbols that a shared library imports or exports.
const DYNAMIC_SYMBOLS: u32 = 11;

/// Whether these are the bytes of an ELF file of 64 bits.
pub(super) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The symbols of a file that concern other files: those that the file needs from other files, and
/// those that other files can use. A file in another format has none.
pub(super) fn symbols(bytes: &[u8]) -> Vec<Symbol<'_>> {
    if is_elf(bytes) {
        read(bytes).unwrap_or_default()
    } else {
        Vec::new()
    }
}

fn read(bytes: &[u8]) -> Option<Vec<Symbol<'_>>> {
    const SHARED: u64 = 3;
    let is_shared = number(bytes, 16, 2)? == SHARED;
    let wanted = if is_shared { DYNAMIC_SYMBOLS } else { SYMBOLS };
    let sections = Sections::of(bytes)?;
    let mut found = Vec::new();
    for at in 0..sections.count {
        let section = sections.get(at)?;
        if section.kind != wanted {
            continue;
        }
        let names = sections.get(section.link)?.content;
        for entry in section.content.chunks_exact(24) {
            found.extend(symbol(entry, names, &sections));
        }
    }
    Some(found)
}

fn symbol<'a>(entry: &[u8], names: &'a [u8], sections: &Sections<'_>) -> Option<Symbol<'a>> {
    const LOCAL: u8 = 0;
    const UNTYPED: u8 = 0;
    const FUNCTION: u8 = 2;
    const INDIRECT: u8 = 10;
    let (binding, kind) = (entry[4] >> 4, entry[4] & 15);
    if binding == LOCAL {
        return None;
    }
    let name = names.get(usize::try_from(number(entry, 0, 4)?).ok()?..)?;
    let name = str::from_utf8(name.split(|byte| *byte == 0).next()?).ok()?;
    let section = usize::try_from(number(entry, 6, 2)?).ok()?;
    Some(match kind {
        _ if section == 0 => Symbol::Undefined(name),
        FUNCTION | INDIRECT => Symbol::Function(name),
        // Labels in assembly may have no type.
        UNTYPED if sections.get(section).is_some_and(|it| it.is_code) => Symbol::Function(name),
        _ => Symbol::Other(name),
    })
}

struct Sections<'a> {
    bytes: &'a [u8],
    at: usize,
    count: usize,
}

struct Section<'a> {
    kind: u32,
    is_code: bool,
    link: usize,
    content: &'a [u8],
}

impl<'a> Sections<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut sections = Self {
            bytes,
            at: usize::try_from(number(bytes, 40, 8)?).ok()?,
            count: usize::try_from(number(bytes, 60, 2)?).ok()?,
        };
        if sections.count == 0 && sections.at != 0 {
            // The number of sections does not fit into two bytes, so the size of the first section
            // contains it.
            sections.count = usize::try_from(number(bytes, sections.at + 32, 8)?).ok()?;
        }
        Some(sections)
    }

    fn get(&self, at: usize) -> Option<Section<'a>> {
        const CODE: u64 = 4;
        const EMPTY: u32 = 8;
        let header = self
            .bytes
            .get(self.at.checked_add(at.checked_mul(64)?)?..)?;
        let kind = u32::try_from(number(header, 4, 4)?).ok()?;
        let offset = usize::try_from(number(header, 24, 8)?).ok()?;
        let size = usize::try_from(number(header, 32, 8)?).ok()?;
        let content = match kind {
            EMPTY => &[],
            _ => self.bytes.get(offset..offset.checked_add(size)?)?,
        };
        Some(Section {
            kind,
            is_code: number(header, 8, 8)? & CODE != 0,
            link: usize::try_from(number(header, 40, 4)?).ok()?,
            content,
        })
    }
}

/// The little-endian number of `length` bytes at `at`.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
