//! The source lines of addresses in a linked program, from its debug information. Files have the
//! names that rustc was given.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

use addr2line::Context;
use addr2line::gimli::{
    AttributeValue, DW_AT_language, DW_LANG_Rust, Dwarf, DwarfSections, EndianSlice, FileEntry,
    LineProgramHeader, LittleEndian, SectionId, Unit,
};
use chess_vocabulary::places::Position;
use object::{Object, ObjectSection};

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// The prefixes of the names of std's files, and of the crates that are shipped with std.
const STD: &[&str] = &["/rustc/", "/rust/deps/"];

/// The prefix of the names of the runtime's files.
const RUNTIME: &str = "/cargo-chess/runtime/";

/// The directory of std's sources in a toolchain.
const TOOLCHAIN: &str = "/lib/rustlib/src/rust/";

/// The bytes of the debug information.
pub(super) struct DebugInfo<'a>(DwarfSections<Cow<'a, [u8]>>);

/// The source lines of a program.
pub(super) struct SourceLines<'a> {
    context: Context<Reader<'a>>,
    /// The relative names by which rustc was given the source files. Files of C code in the
    /// workspace have relative names, too. The key is the absolute path of the file.
    given: HashMap<String, String>,
    /// The address ranges of code that may contain functions of the program, sorted.
    own: Vec<Range<u64>>,
}

/// A source line at an address, and the owner of its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line<'a> {
    pub(super) position: Position<'a>,
    pub(super) owner: Owner,
}

/// The owner of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// The tested packages and their dependencies.
    Program,
    /// The standard library.
    Std,
    /// The runtime of this tool.
    Runtime,
}

impl<'a> DebugInfo<'a> {
    /// Takes the sections with debug information out of a program.
    pub(super) fn read(file: &impl Object<'a>) -> io::Result<Self> {
        let section = |id: SectionId| match file.section_by_name(id.name()) {
            Some(section) => section.uncompressed_data().map_err(io::Error::other),
            None => Ok(Cow::default()),
        };
        DwarfSections::load(section).map(Self)
    }
}

impl<'a> SourceLines<'a> {
    /// Reads the units of the debug information.
    pub(super) fn new(info: &'a DebugInfo<'_>) -> io::Result<Self> {
        let borrow = || info.0.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        let (given, own) = of_units(&borrow());
        let context = Context::from_dwarf(borrow()).map_err(io::Error::other)?;
        Ok(Self {
            context,
            given,
            own,
        })
    }

    /// Whether the address lies in code of a unit that may contain functions of the program.
    pub(super) fn is_of_own_unit(&self, address: u64) -> bool {
        let after = self.own.partition_point(|range| range.start <= address);
        after > 0 && self.own[after - 1].contains(&address)
    }

    /// The innermost line at the address: the line in the innermost of the inlined functions.
    pub(super) fn innermost(&self, address: u64) -> Option<Line<'_>> {
        self.line(&self.context.find_location(address).ok()??)
    }

    /// The innermost line at the address that is not std's. If all lines are std's, the innermost
    /// line. An instruction without a line has the line of an earlier instruction in the function.
    /// `start` is the start of the function.
    pub(super) fn innermost_own(&self, start: u64, address: u64) -> Option<Line<'_>> {
        self.innermost_own_at(address).or_else(|| {
            let rows = self.context.find_location_range(start, address).ok()?;
            let rows = rows.filter(|(_, _, location)| location.line.is_some());
            let (address, ..) = rows.last()?;
            self.innermost_own_at(address)
        })
    }

    fn innermost_own_at(&self, address: u64) -> Option<Line<'_>> {
        let mut innermost = None;
        let mut frames = self.context.find_frames(address).skip_all_loads().ok()?;
        while let Ok(Some(frame)) = frames.next() {
            let Some(line) = frame.location.and_then(|it| self.line(&it)) else {
                continue;
            };
            if line.owner != Owner::Std {
                return Some(line);
            }
            innermost = innermost.or(Some(line));
        }
        innermost
    }

    /// Whether the function that contains the address is known to be the program's. Functions that
    /// are inlined at the address do not count.
    pub(super) fn is_in_own_function(&self, address: u64) -> bool {
        let mut file = None;
        if let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() {
            while let Ok(Some(frame)) = frames.next() {
                file = frame.location.and_then(|it| it.file);
            }
        }
        file.is_some_and(|it| owner(it) == Owner::Program)
    }

    fn line<'s>(&'s self, location: &addr2line::Location<'s>) -> Option<Line<'s>> {
        let file = location.file?;
        Some(Line {
            position: Position {
                file: self.given.get(file).map_or(file, String::as_str),
                line: location.line?,
                column: location.column.unwrap_or(1).max(1),
            },
            owner: owner(file),
        })
    }
}

/// The owner of the code in a file.
fn owner(file: &str) -> Owner {
    if STD.iter().any(|prefix| file.starts_with(prefix)) || file.contains(TOOLCHAIN) {
        Owner::Std
    } else if file.starts_with(RUNTIME) {
        Owner::Runtime
    } else {
        Owner::Program
    }
}

type OfUnits = (HashMap<String, String>, Vec<Range<u64>>);

/// Returns two values. The first one has the relative names by which rustc was given the source
/// files, and those of C code in the workspace, by the absolute paths of the files. The second one
/// has the address ranges of the units that are neither std's nor the runtime's. Units that cannot
/// be read are left out.
fn of_units(dwarf: &Dwarf<Reader<'_>>) -> OfUnits {
    let mut own = Vec::new();
    let mut units = Vec::new();
    let mut of_c = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else {
            continue;
        };
        let [name, directory] = [unit.name, unit.comp_dir].map(text);
        if owner(&join(&directory, &name)) != Owner::Program {
            continue;
        }
        if let Ok(mut ranges) = dwarf.unit_ranges(&unit) {
            while let Ok(Some(range)) = ranges.next() {
                own.push(range.begin..range.end);
            }
        }
        if !is_of_rust(&unit) {
            of_c.push((directory, unit));
        } else if !name.starts_with('/') {
            // The unit is in the workspace: cargo names other packages by absolute paths.
            units.push((directory, unit));
        }
    }
    own.sort_unstable_by_key(|range| (range.start, range.end));
    let workspaces: HashSet<_> = units.iter().map(|(it, _)| it.to_string()).collect();
    let mut given = HashMap::new();
    for (directory, unit) in &units {
        let Some(program) = &unit.line_program else {
            continue;
        };
        for file in program.header().file_names() {
            let (inside, name) = name_of(dwarf, unit, program.header(), file);
            let name = match &*inside {
                inside if inside.starts_with('/') && !workspaces.contains(inside) => continue,
                inside if inside.starts_with('/') => name.into_owned(),
                inside => join(inside, &name).into_owned(),
            };
            let from = Some(&*inside).filter(|it| it.starts_with('/'));
            let path = join(from.unwrap_or(directory), &name).into_owned();
            if path != name && !is_generated(&name) {
                given.insert(path, name);
            }
        }
    }
    for (directory, unit) in &of_c {
        let Some(program) = &unit.line_program else {
            continue;
        };
        for file in program.header().file_names() {
            let (inside, name) = name_of(dwarf, unit, program.header(), file);
            let path = join(&join(directory, &inside), &name).into_owned();
            let mut names = workspaces.iter().filter_map(|it| {
                let name = path.strip_prefix(&**it)?.strip_prefix('/')?;
                (!is_generated(name)).then(|| name.to_owned())
            });
            if let Some(name) = names.next() {
                given.insert(path, name);
            }
        }
    }
    (given, own)
}

/// Whether rustc made the unit. The others are of C or a similar language.
fn is_of_rust(unit: &Unit<Reader<'_>>) -> bool {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok().flatten();
    let language = root.and_then(|root| root.attr_value(DW_AT_language));
    language == Some(AttributeValue::Language(DW_LANG_Rust))
}

/// The directory of a file, and its name in the directory. A relative directory is relative to the
/// directory of the unit.
fn name_of<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    header: &LineProgramHeader<Reader<'a>>,
    file: &FileEntry<Reader<'a>>,
) -> (Cow<'a, str>, Cow<'a, str>) {
    let string = |value: AttributeValue<Reader<'a>>| text(dwarf.attr_string(unit, value).ok());
    let directory = match file.directory_index() {
        0 => Cow::default(),
        _ => file.directory(header).map(string).unwrap_or_default(),
    };
    (directory, string(file.path_name()))
}

/// Whether a build script generated the file. rustc gets its absolute path, although the target
/// directory may be in the workspace.
fn is_generated(name: &str) -> bool {
    let mut parts = name.split('/');
    while parts.any(|part| part == "build") {
        let mut rest = parts.clone();
        let package = rest.next().unwrap_or_default();
        let hash = package.rsplit('-').next().unwrap_or_default();
        let is_hash = hash.len() == 16 && hash.bytes().all(|it| it.is_ascii_hexdigit());
        if is_hash && rest.next() == Some("out") {
            return true;
        }
    }
    false
}

fn text(bytes: Option<Reader<'_>>) -> Cow<'_, str> {
    bytes.map(|it| it.to_string_lossy()).unwrap_or_default()
}

fn join<'a>(directory: &str, name: &'a str) -> Cow<'a, str> {
    if directory.is_empty() || name.starts_with('/') {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{}/{name}", directory.trim_end_matches('/')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn std_and_the_runtime_are_not_the_program() {
        for file in [
            "/rustc/59807616e1fa/library/core/src/option.rs",
            "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/cell.rs",
        ] {
            assert_eq!(owner(file), Owner::Std, "{file}");
        }
        let shim = "/cargo-chess/runtime/src/shim/sync/arc/strong.rs";
        assert_eq!(owner(shim), Owner::Runtime);
        for file in [
            "src/lib.rs",
            "library/core/src/lib.rs",
            "/home/me/.cargo/registry/src/index/hashbrown-0.15.5/src/raw/mod.rs",
        ] {
            assert_eq!(owner(file), Owner::Program, "{file}");
        }
    }

    #[test]
    fn files_of_build_scripts_are_generated() {
        for (name, expected) in [
            ("target/debug/build/app-a6ac7bfb06568b75/out/gen.rs", true),
            (
                "target/build/debug/build/a-a6ac7bfb06568b75/out/x/y.rs",
                true,
            ),
            ("build/app/out/gen.rs", false),
            ("src/build/app-a6ac7bfb06568b75/mod.rs", false),
            ("src/lib.rs", false),
        ] {
            assert_eq!(is_generated(name), expected, "{name}");
        }
    }
}
