//! The stubs that announce calls from Rust into C, and the functions that get them.
//!
//! A test binary contains code in C and other languages: objects that rustc did not make, and
//! shared libraries. The engine does not see the accesses of this code to its own memory. So a
//! call into this code is treated like a call into an opaque package: one step, up to a blocking
//! operation, that may depend on any other. The linker collects the functions that Rust code uses
//! and that a C object or a shared library defines. It puts a stub before each of them (`--wrap`),
//! except before those of allocators and those that `std` or the engine call. Rust code then calls
//! the stub, and also gets the address of the stub where it takes the address of the function. A
//! stub fits every signature, because it changes no argument.
//!
//! C code that is compiled with `-fsanitize=thread` calls the hooks of the runtime, so the engine
//! sees its accesses. Its functions get no stubs if their lines are known.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use object::Object as _;

use super::elf::{self, Symbol};
use super::{archive, inputs};

/// Prefixes of the functions of memory allocators, which get no stubs. Tasks observe only the
/// addresses that an allocator returns, and tests must not depend on these.
const ALLOCATORS: &[&str] = &[
    "_rjem_",
    "je_",
    "mi_",
    "_mi_",
    "rpmalloc",
    "rprealloc",
    "rpfree",
    "rpaligned",
    "sn_",
    "tc_",
    "scalable_",
];

/// The hook that each function of instrumented C code calls first.
const HOOK_OF_FUNCTIONS: &str = "__tsan_func_entry";

/// The functions that Rust code uses, and whose definitions are in files that rustc did not make.
/// `is_watched` states that the program gets a table of its accesses to memory. Then instrumented
/// C code counts as Rust code.
pub(super) fn foreign_functions(
    words: &[String],
    is_watched: bool,
) -> io::Result<BTreeSet<String>> {
    let files = inputs::files(words);
    let mut foreign = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut of_rust = Vec::new();
    let mut add = |bytes: &[u8]| {
        if is_watched && is_instrumented(bytes) {
            used.extend(undefined(bytes).map(str::to_owned));
        } else {
            functions_of(bytes, &mut foreign);
        }
    };
    for path in &files {
        let is_rlib = path.extension().is_some_and(|it| it == "rlib");
        match archive::members(path) {
            Ok(Some(members)) => {
                for member in members {
                    let is_of_rust =
                        is_rlib && (is_unit(&member.name) || member.name == "lib.rmeta");
                    if is_of_rust {
                        of_rust.push((path, Some(member)));
                    } else if !is_of_toolchain(path) {
                        // The compiler's own C code only computes.
                        add(&member.read()?);
                    }
                }
            }
            Ok(None) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if is_unit(&name) || name == "symbols.o" {
                    of_rust.push((path, None));
                } else {
                    add(&fs::read(path)?);
                }
            }
            // If the file cannot be read, the linker reports the error.
            Err(_) => {}
        }
    }
    if foreign.is_empty() {
        return Ok(foreign);
    }
    let mut other = BTreeSet::new();
    for (path, member) in of_rust {
        let bytes = match member {
            Some(member) => member.read()?,
            None => fs::read(path)?,
        };
        // Functions that std or the engine call get no stubs, because these calls may be made
        // while tasks are switched.
        let is_ours = is_of_toolchain(path) || is_of_engine(path);
        for symbol in elf::symbols(&bytes) {
            match symbol {
                Symbol::Undefined(name) if is_ours => other.insert(name.to_owned()),
                Symbol::Undefined(name) => used.insert(name.to_owned()),
                Symbol::Function(name) | Symbol::Other(name) => other.insert(name.to_owned()),
            };
        }
    }
    let is_allocator = |name: &str| ALLOCATORS.iter().any(|prefix| name.starts_with(prefix));
    foreign.retain(|name| used.contains(name) && !other.contains(name) && !is_allocator(name));
    Ok(foreign)
}

pub(super) fn functions_of(bytes: &[u8], functions: &mut BTreeSet<String>) {
    for symbol in elf::symbols(bytes) {
        if let Symbol::Function(name) = symbol {
            functions.insert(name.to_owned());
        }
    }
}

/// Whether an object of C code calls the runtime's hooks, and has the lines of these calls.
pub(super) fn is_instrumented(bytes: &[u8]) -> bool {
    let has_lines = || {
        let file = object::File::parse(bytes);
        file.is_ok_and(|file| file.section_by_name(".debug_line").is_some())
    };
    undefined(bytes).any(|name| name == HOOK_OF_FUNCTIONS) && has_lines()
}

/// The names that an object uses and does not define.
fn undefined(bytes: &[u8]) -> impl Iterator<Item = &str> {
    elf::symbols(bytes)
        .into_iter()
        .filter_map(|symbol| match symbol {
            Symbol::Undefined(name) => Some(name),
            _ => None,
        })
}

/// Whether an object with this name was made by rustc.
fn is_unit(name: &str) -> bool {
    name.ends_with(".rcgu.o")
}

fn is_of_toolchain(path: &Path) -> bool {
    path.iter().any(|part| part == "rustlib")
}

fn is_of_engine(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("libchess_")
}

/// The assembly of a stub for each function. A stub announces the call, and then jumps to the
/// function.
pub(super) fn assembly(functions: &BTreeSet<String>) -> String {
    let mut text = String::new();
    for name in functions {
        _ = write!(
            text,
            "\t.section \".text.__wrap_{name}\",\"ax\",@progbits\n\
             \t.globl \"__wrap_{name}\"\n\
             \t.hidden \"__wrap_{name}\"\n\
             \t.type \"__wrap_{name}\",@function\n\
             \"__wrap_{name}\":\n\
             \t.cfi_startproc\n\
             \tcall __chess_foreign_call@PLT\n\
             \tjmp \"__real_{name}\"@PLT\n\
             \t.cfi_endproc\n\
             \t.size \"__wrap_{name}\",.-\"__wrap_{name}\"\n"
        );
    }
    // This section shows the engine that the program has code that the engine does not see
    // (runtime/src/platform/observers.rs).
    text.push_str("\t.section chess_atomics,\"aR\",@progbits\n\t.byte 1\n");
    text.push_str("\t.section .note.GNU-stack,\"\",@progbits\n");
    text
}
