//! Appends the table of places to a linked program. The table has the source lines of the calls of
//! hooks, which announce the program's accesses to memory. It also has the source lines of calls
//! of library functions, because the accesses of these functions get the line of their caller.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use chess_vocabulary::places::{ALIGNMENT, Entry, Table, trailer_of};
use iced_x86::Instruction;

use super::dead_reads;
use super::hook_calls::{self, Function, Hook, Program, Target};
use super::source_lines::{DebugInfo, Owner, SourceLines};

/// Appends the table of places to `program`. A program that calls no hooks is not changed. If the
/// hooks are in a dynamic library, the table is empty: the runtime then notices that the program
/// has calls that are in no table.
pub(super) fn append(program: &Path) -> io::Result<()> {
    let bytes = fs::read(program)?;
    let Some(table) = table(&bytes)? else {
        return Ok(());
    };
    let offset = bytes.len().next_multiple_of(ALIGNMENT);
    let mut added = vec![0; offset - bytes.len()];
    added.extend(&table);
    added.extend(trailer_of(offset, table.len()));
    File::options()
        .append(true)
        .open(program)?
        .write_all(&added)
}

/// The bytes of the table of places of a program. Returns `None` if it calls no hooks.
fn table(program: &[u8]) -> io::Result<Option<Vec<u8>>> {
    if hook_calls::imports_hooks(program)? {
        return Ok(Some(Table::new().into_bytes()));
    }
    let Some(program) = Program::parse(program)? else {
        return Ok(None);
    };
    let info = DebugInfo::read(program.file())?;
    let lines = SourceLines::new(&info)?;
    let code = Code::read(&program, &lines);
    let is_hook = |call: &Call| matches!(call.target, Target::Hook(_));
    if !code.calls.iter().any(is_hook) {
        return Ok(None);
    }
    Ok(Some(code.table(&program, &lines).into_bytes()))
}

/// The calls and jumps in the program's own functions.
struct Code {
    calls: Vec<Call>,
    /// The jumps out of functions, by the address of the function. The target of such a jump
    /// returns to the caller of the function.
    jumps: HashMap<u64, Vec<Target>>,
}

struct Call {
    /// The address of the function that has the call.
    caller: u64,
    /// The address of the instruction after the call.
    return_address: u64,
    target: Target,
    /// Whether the call announces a read that the machine code does not make.
    is_dead: bool,
}

impl Code {
    fn read(program: &Program<'_>, lines: &SourceLines<'_>) -> Self {
        let mut code = Self {
            calls: Vec::new(),
            jumps: HashMap::new(),
        };
        let mut instructions = Vec::new();
        let functions = program.functions().iter();
        for function in functions.filter(|it| lines.is_of_own_unit(it.address)) {
            function.decode(&mut instructions);
            code.add(program, lines, function, &instructions);
        }
        code
    }

    fn add(
        &mut self,
        program: &Program<'_>,
        lines: &SourceLines<'_>,
        function: &Function<'_>,
        instructions: &[Instruction],
    ) {
        let targets: Vec<_> = instructions
            .iter()
            .map(|it| program.called_by(it))
            .collect();
        let mut dead = HashSet::new();
        let stores_discriminants = program.stores_discriminants(function);
        for it in dead_reads::find(instructions, &targets, stores_discriminants) {
            // Both loads of a pair have one position in the sources.
            let [line, other] =
                [it.call, it.other].map(|at| lines.innermost(instructions[at].next_ip() - 1));
            if line.is_some() && line == other {
                dead.insert(it.call);
            }
        }
        for (at, (instruction, target)) in instructions.iter().zip(targets).enumerate() {
            if let Some(target) = target {
                self.calls.push(Call {
                    caller: function.address,
                    return_address: instruction.next_ip(),
                    target,
                    is_dead: dead.contains(&at),
                });
            } else if let Some(target) = program.left_by(instruction, function) {
                let jumps = self.jumps.entry(function.address);
                jumps.or_default().push(target);
            }
        }
    }

    fn table(self, program: &Program<'_>, lines: &SourceLines<'_>) -> Table {
        let mut own = OwnFunctions {
            lines,
            jumps: self.jumps,
            known: HashMap::new(),
        };
        let mut table = Table::new();
        for call in self.calls {
            if call.target == Target::Hook(Hook::Mark) || own.contains(call.target) {
                // The accesses of the program's own functions have lines of their own.
                continue;
            }
            // The return address may belong to another line, or to another function.
            let line = lines.innermost_own(call.caller, call.return_address - 1);
            let address = program.relative(call.return_address);
            let (Some(line), Some(address)) = (line, address) else {
                continue;
            };
            let is_hook = matches!(call.target, Target::Hook(_));
            if line.owner == Owner::Std && !is_hook {
                continue;
            }
            let entry = Entry::new(table.place(line.position));
            let entry = match line.owner {
                Owner::Program => entry,
                Owner::Std => entry.of_library(),
                // The runtime announces the accesses that it makes for the program.
                Owner::Runtime => entry.ignored(),
            };
            let entry = if call.is_dead { entry.ignored() } else { entry };
            table.add(address, entry);
        }
        table
    }
}

/// Finds the functions whose accesses need no line of a caller, because the program's own lines
/// are known for all of them. These are the program's own functions, except those that jump out to
/// a function of another kind.
struct OwnFunctions<'a, 'b> {
    lines: &'a SourceLines<'b>,
    jumps: HashMap<u64, Vec<Target>>,
    known: HashMap<u64, bool>,
}

impl OwnFunctions<'_, '_> {
    fn contains(&mut self, target: Target) -> bool {
        let Target::Known(address) = target else {
            return false;
        };
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let is_own = self.lines.is_of_own_unit(address) && self.lines.is_in_own_function(address);
        // Functions may jump to each other in a cycle.
        self.known.insert(address, is_own);
        if is_own && let Some(jumps) = self.jumps.remove(&address) {
            let is_own = jumps.into_iter().all(|it| self.contains(it));
            self.known.insert(address, is_own);
            return is_own;
        }
        is_own
    }
}

#[cfg(test)]
mod tests;
