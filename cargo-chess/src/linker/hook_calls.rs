//! The calls in the machine code of a linked program, and their targets.

use std::collections::{HashMap, HashSet};
use std::io;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use object::elf::R_X86_64_RELATIVE;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, SectionKind, SymbolKind,
};

/// The prefix of the names of the hooks, which LLVM's pass calls before accesses.
const HOOK: &str = "__tsan_";

/// C functions whose calls are treated like those of hooks: the runtime announces their reads,
/// because LLVM's pass does not.
const C_HOOKS: &[&str] = &["memcmp", "bcmp", "memchr", "memrchr", "strlen"];

/// The access that a hook announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hook {
    /// A read of this number of bytes by one instruction.
    Read(u64),
    /// Another access.
    Other,
    /// No access: the hook marks the beginning or the end of a function.
    Mark,
}

/// Parts of the mangled names of the functions that [store
/// discriminants](Program::stores_discriminants), in both schemes of rustc.
const STORES_DISCRIMINANTS: &[&str] = &[
    "4core3mem12discriminant",
    "3cmp3Ord3cmp",
    "core..cmp..Ord$GT$3cmp",
    "3cmp10PartialOrd11partial_cmp",
    "core..cmp..PartialOrd$GT$11partial_cmp",
    "4hash4Hash4hash",
    "core..hash..Hash$GT$4hash",
];

/// The code of a linked program.
pub(super) struct Program<'a> {
    file: ElfFile64<'a, Endianness>,
    /// The address of the program's first byte, as linked. The program may be loaded elsewhere.
    base: u64,
    hooks: HashMap<u64, Hook>,
    /// The functions that have a length, sorted by address.
    functions: Vec<Function<'a>>,
    /// The addresses of the functions of [`STORES_DISCRIMINANTS`].
    storing_discriminants: HashSet<u64>,
    /// The words that contain an address in the program when the program runs. The key is the
    /// address of the word, and the value is the contained address.
    pointers: HashMap<u64, u64>,
}

/// A function of the program.
#[derive(Clone, Copy)]
pub(super) struct Function<'a> {
    pub(super) address: u64,
    code: &'a [u8],
}

/// A call or a jump out of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Hook(Hook),
    /// The address of a function, or of a stub that jumps to one.
    Known(u64),
    Unknown,
}

/// Whether the hooks that a program calls are in a dynamic library.
pub(super) fn imports_hooks(program: &[u8]) -> io::Result<bool> {
    let file = ElfFile64::<Endianness>::parse(program).map_err(io::Error::other)?;
    let is_hook = |name: object::Result<&str>| name.is_ok_and(|name| name.starts_with(HOOK));
    Ok(file
        .dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && is_hook(symbol.name())))
}

impl<'a> Program<'a> {
    /// Reads a program. Returns `None` if it has no hooks, or is not for x86-64.
    pub(super) fn parse(bytes: &'a [u8]) -> io::Result<Option<Self>> {
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(io::Error::other)?;
        if file.architecture() != object::Architecture::X86_64 {
            return Ok(None);
        }
        let mut hooks = HashMap::new();
        let mut c_hooks = Vec::new();
        let mut functions = Vec::new();
        let mut storing_discriminants = HashSet::new();
        for symbol in file.symbols() {
            let name = symbol.name().unwrap_or_default();
            if symbol.is_definition() {
                if let Some(of) = name.strip_prefix(HOOK) {
                    hooks.insert(symbol.address(), hook(of));
                } else if C_HOOKS.contains(&name) {
                    c_hooks.push(symbol.address());
                }
            }
            if symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0 {
                functions.push((symbol.address(), symbol.size()));
                if STORES_DISCRIMINANTS.iter().any(|part| name.contains(part)) {
                    storing_discriminants.insert(symbol.address());
                }
            }
        }
        if hooks.is_empty() {
            return Ok(None);
        }
        hooks.extend(c_hooks.into_iter().map(|it| (it, Hook::Other)));
        functions.sort_unstable();
        functions.dedup_by_key(|(address, _)| *address);
        let base = base_of(&file);
        let pointers = pointers(&file);
        let functions = code_of(&file, &functions)?;
        Ok(Some(Self {
            file,
            base,
            hooks,
            functions,
            storing_discriminants,
            pointers,
        }))
    }

    /// The object file.
    pub(super) fn file(&self) -> &ElfFile64<'a, Endianness> {
        &self.file
    }

    /// The address relative to the program's first byte.
    pub(super) fn relative(&self, address: u64) -> Option<u32> {
        u32::try_from(address.checked_sub(self.base)?).ok()
    }

    /// The functions, sorted by address.
    pub(super) fn functions(&self) -> &[Function<'a>] {
        &self.functions
    }

    /// Whether the function is `core::mem::discriminant`, or one of the functions whose derived
    /// code compares or hashes a discriminant as a number.
    pub(super) fn stores_discriminants(&self, function: &Function<'_>) -> bool {
        self.storing_discriminants.contains(&function.address)
    }

    /// The target of a call. Returns `None` if the instruction is no call.
    pub(super) fn called_by(&self, instruction: &Instruction) -> Option<Target> {
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => Some(self.target(instruction)),
            _ => None,
        }
    }

    /// The target of a jump out of the function `code`, such as the last call of an optimised
    /// function. Returns `None` if the instruction is no such jump.
    pub(super) fn left_by(&self, instruction: &Instruction, code: &Function<'_>) -> Option<Target> {
        match instruction.flow_control() {
            FlowControl::IndirectBranch => Some(self.target(instruction)),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                let to = instruction.near_branch_target();
                let is_inside = (code.address..code.end()).contains(&to);
                (!is_inside).then(|| self.target(instruction))
            }
            _ => None,
        }
    }

    fn target(&self, instruction: &Instruction) -> Target {
        let address = match instruction.op0_kind() {
            OpKind::NearBranch64 => Some(instruction.near_branch64()),
            OpKind::Memory if instruction.memory_base() == Register::RIP => {
                let word = instruction.memory_displacement64();
                self.pointers.get(&word).copied()
            }
            _ => None,
        };
        let Some(address) = address else {
            return Target::Unknown;
        };
        let hook = self.hooks.get(&address).copied();
        hook.map_or(Target::Known(address), Target::Hook)
    }
}

impl Function<'_> {
    fn end(&self) -> u64 {
        self.address + self.code.len() as u64
    }

    /// Decodes the function into `instructions`.
    pub(super) fn decode(&self, instructions: &mut Vec<Instruction>) {
        instructions.clear();
        let mut decoder = Decoder::with_ip(64, self.code, self.address, DecoderOptions::NONE);
        instructions.extend(&mut decoder);
    }
}

fn hook(name: &str) -> Hook {
    if matches!(name, "func_entry" | "func_exit" | "init") {
        return Hook::Mark;
    }
    let size = name.strip_prefix("unaligned_").unwrap_or(name);
    let size = size.strip_prefix("read").map(str::parse);
    match size {
        Some(Ok(size)) => Hook::Read(size),
        _ => Hook::Other,
    }
}

/// The address of the file's first byte in memory, as linked.
fn base_of(file: &ElfFile64<'_, Endianness>) -> u64 {
    let endian = file.endian();
    let segments = file.elf_program_headers().iter();
    let loaded = segments.filter(|it| it.p_type(endian) == object::elf::PT_LOAD);
    loaded.map(|it| it.p_vaddr(endian)).min().unwrap_or(0)
}

/// Finds the words that contain an address in the program when the program runs. Returns the
/// contained address for the address of each word.
fn pointers(file: &ElfFile64<'_, Endianness>) -> HashMap<u64, u64> {
    let mut pointers = HashMap::new();
    if file.elf_header().e_type(file.endian()) != object::elf::ET_DYN {
        // In a program at a fixed address, these words have their contents in the file.
        let section = file.section_by_name(".got");
        let words = section.and_then(|it| Some((it.address(), it.data().ok()?)));
        if let Some((address, data)) = words {
            let words = data.as_chunks().0.iter().map(|it| u64::from_le_bytes(*it));
            pointers.extend((address..).step_by(8).zip(words));
        }
    }
    for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if relocation.flags()
            == (RelocationFlags::Elf {
                r_type: R_X86_64_RELATIVE,
            })
        {
            pointers.insert(address, relocation.addend().cast_unsigned());
        }
    }
    pointers
}

/// Finds the code of functions. `functions` has the address and the size of each, sorted by
/// address.
fn code_of<'a>(
    file: &ElfFile64<'a, Endianness>,
    functions: &[(u64, u64)],
) -> io::Result<Vec<Function<'a>>> {
    let mut found = Vec::with_capacity(functions.len());
    for section in file.sections() {
        if section.kind() != SectionKind::Text {
            continue;
        }
        let data = section.data().map_err(io::Error::other)?;
        let start = section.address();
        let first = functions.partition_point(|(address, _)| *address < start);
        for &(address, size) in &functions[first..] {
            let Ok(offset) = usize::try_from(address - start) else {
                break;
            };
            if offset >= data.len() {
                break;
            }
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let code = &data[offset..][..size.min(data.len() - offset)];
            found.push(Function { address, code });
        }
    }
    found.sort_by_key(|it: &Function<'_>| it.address);
    Ok(found)
}
