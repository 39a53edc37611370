//! Finds the calls that announce a read that the machine code does not make.
//!
//! Without optimisations, rustc loads both halves of a pair of scalars to use one of them, for
//! example the discriminant of an `Option` and its payload. LLVM announces both loads, and then
//! removes the unused one.
//!
//! Such a call is recognised only in unoptimised code of this shape. Two announcements follow each
//! other in straight-line code, for the two halves of a pair behind one pointer or in a static. The
//! code loads one half, or a part of this half: rustc makes a discriminant as large as the
//! alignment of its payload, and loads the part that differs. After the announcement of the other
//! half, no instruction before the next call or jump can load from its address. In unoptimised
//! code, a load is in the same straight-line code as its announcement, and no register is used that
//! a callee preserves. So the load cannot be elsewhere.
//!
//! The unused half of a copied pair has the same shape, although the program reads it. So the
//! straight-line code after both announcements must meet one more condition: it uses no other
//! memory outside the stack frame, and it compares a value with a constant or ends in a conditional
//! jump. Code that uses a discriminant meets this condition. A derived `==` compares the
//! discriminants of two values. It reads both values before the comparison.
//!
//! In `core::mem::discriminant`, in `Ord::cmp`, `PartialOrd::partial_cmp` and `Hash::hash`, no
//! comparison has to follow. Derived code of these functions stores the discriminant in a variable.
//! If a programmer writes one of these functions, copies a pair in it and uses only one half, then
//! only this half counts as read.

use std::collections::{HashMap, HashSet};

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess,
    OpKind, Register, UsedMemory,
};

use super::hook_calls::{Hook, Target};

/// A call that announces a read that the code does not make. Both numbers are indices of
/// instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DeadRead {
    pub(super) call: usize,
    /// The call that announces the read of the other half of the pair.
    pub(super) other: usize,
}

/// Finds the dead reads of a function. `targets` has an entry for each instruction: the target, if
/// the instruction is a call. `stores_discriminants` states that the function may use a
/// discriminant without a decision, as `core::mem::discriminant` does.
pub(super) fn find(
    instructions: &[Instruction],
    targets: &[Option<Target>],
    stores_discriminants: bool,
) -> Vec<DeadRead> {
    let is_read = |it: &&Option<Target>| matches!(it, Some(Target::Hook(Hook::Read(_))));
    if targets.iter().filter(is_read).count() < 2 || !is_unoptimised(instructions) {
        return Vec::new();
    }
    let mut info = InstructionInfoFactory::new();
    let mut walk = Walk {
        spilled: spill_slots(instructions, &mut info),
        spills: HashMap::new(),
        info,
        labels: instructions.iter().filter_map(jump_target).collect(),
        registers: HashMap::new(),
        slots: HashMap::new(),
        last_origin: PROGRAM,
        blocks: vec![Vec::new()],
        is_open: false,
        after: After::default(),
    };
    for (at, target) in targets.iter().enumerate() {
        walk.visit(at, &instructions[at], *target);
    }
    let mut dead = Vec::new();
    for block in &walk.blocks {
        for (at, pair) in block.windows(2).enumerate() {
            let is_discriminant = stores_discriminants
                || pair[1].leads_to_decision
                || is_compared_with_next_pair(&block[at..]);
            let unused = unused_half(&pair[0], &pair[1]);
            dead.extend(unused.filter(|_| is_discriminant));
        }
    }
    dead
}

/// Returns the dead read if the two reads are those of a pair, and the code loads only one half.
fn unused_half(first: &Read, second: &Read) -> Option<DeadRead> {
    let (call, other) = match (first.load, second.load) {
        _ if !are_halves(first, second) => return None,
        (Load::Found, Load::None) => (second.at, first.at),
        (Load::None, Load::Found) => (first.at, second.at),
        _ => return None,
    };
    Some(DeadRead { call, other })
}

/// Whether the first four reads are those of two pairs of the same type, the code loads the same
/// half of both, and only a decision follows.
fn is_compared_with_next_pair(reads: &[Read]) -> bool {
    let [first, second, other_first, other_second, ..] = reads else {
        return false;
    };
    let are_alike = |one: &Read, other: &Read| (one.size, one.load) == (other.size, other.load);
    second.is_followed_by_another
        && other_second.leads_to_decision
        && are_alike(first, other_first)
        && are_alike(second, other_second)
        && unused_half(other_first, other_second).is_some()
}

/// The words of the stack frame that hold a single value in the whole function, by their distance
/// from the frame pointer: only one instruction writes such a word, and none takes its address.
fn spill_slots(instructions: &[Instruction], info: &mut InstructionInfoFactory) -> HashSet<i64> {
    let mut words = Vec::new();
    let mut written = Vec::new();
    let mut taken = HashSet::new();
    for instruction in instructions {
        let is_of_frame = instruction.memory_base() == Register::RBP;
        if is_of_frame && instruction.mnemonic() == Mnemonic::Lea {
            taken.insert(instruction.memory_displacement64().cast_signed());
        }
        if is_word_store(instruction) && instruction.memory_index() == Register::None {
            words.push(instruction.memory_displacement64().cast_signed());
        }
        let options = InstructionInfoOptions::NONE;
        let memory = info.info_options(instruction, options).used_memory();
        let of_frame = memory.iter().filter(|it| it.base() == Register::RBP);
        for it in of_frame.filter(|it| is_written(it)) {
            let size = it.memory_size().size();
            if size == 0 || it.index() != Register::None {
                return HashSet::new();
            }
            let start = it.displacement().cast_signed();
            let end = start.saturating_add(i64::try_from(size).unwrap_or(i64::MAX));
            written.push((start, end));
        }
    }
    let meets = |slot: i64, (start, end): &(i64, i64)| *start < slot + 8 && slot < *end;
    words.retain(|&slot| {
        written.iter().filter(|range| meets(slot, range)).count() == 1
            && !(slot..slot + 8).any(|byte| taken.contains(&byte))
    });
    words.into_iter().collect()
}

/// Whether an instruction stores a register of eight bytes in the stack frame.
fn is_word_store(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Memory
        && instruction.memory_base() == Register::RBP
        && instruction.op1_kind() == OpKind::Register
        && instruction.op1_register().is_gpr64()
}

/// Whether the code has the form of unoptimised code: it has a frame, and keeps no value in a
/// register across calls. Optimised code keeps a pointer in a register if it needs the pointer
/// before and after an announcement.
fn is_unoptimised(instructions: &[Instruction]) -> bool {
    use Register::{R12, R13, R14, R15, RBP, RBX};
    let [push, frame, ..] = instructions else {
        return false;
    };
    let has_frame = push.mnemonic() == Mnemonic::Push
        && push.op0_register() == RBP
        && frame.mnemonic() == Mnemonic::Mov
        && frame.op0_register() == RBP;
    let is_preserved = |it: Register| matches!(it.full_register(), RBX | R12 | R13 | R14 | R15);
    let preserves = |it: &Instruction| {
        let mut operands = (0..it.op_count()).filter(|at| it.op_kind(*at) == OpKind::Register);
        operands.any(|at| is_preserved(it.op_register(at)))
            || is_preserved(it.memory_base())
            || is_preserved(it.memory_index())
    };
    has_frame && !instructions.iter().any(preserves)
}

fn jump_target(instruction: &Instruction) -> Option<u64> {
    match instruction.flow_control() {
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
            Some(instruction.near_branch_target())
        }
        _ => None,
    }
}

/// Whether two reads are those of the halves of a pair. The second half begins at the end of the
/// first half, or after padding up to the next multiple of the second half's size.
fn are_halves(first: &Read, second: &Read) -> bool {
    let distance = second.address.offset.wrapping_sub(first.address.offset);
    first.address.origin == second.address.origin
        && u64::try_from(distance) == Ok(first.size.next_multiple_of(second.size.max(1)))
}

/// The sum of an unknown number and a known one, `offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Value {
    /// Identifies the unknown number.
    origin: u32,
    offset: i64,
}

/// The origin of the value of the frame pointer.
const FRAME: u32 = 0;
/// The origin of the addresses of statics. It stands for the unknown address at which the program
/// is loaded.
const PROGRAM: u32 = 1;

impl Value {
    /// The address of a static.
    fn of_static(address: u64) -> Self {
        Self {
            origin: PROGRAM,
            offset: address.cast_signed(),
        }
    }

    fn plus(self, offset: u64) -> Self {
        Self {
            offset: self.offset.wrapping_add(offset.cast_signed()),
            ..self
        }
    }
}

/// An announced read.
#[derive(Debug)]
struct Read {
    /// The index of the call.
    at: usize,
    address: Value,
    size: u64,
    load: Load,
    /// Whether the rest of the straight-line code uses no other memory outside the stack frame,
    /// and compares a value with a constant or ends in a conditional jump.
    leads_to_decision: bool,
    /// Whether the next call announces a read, and the code before it uses only the stack frame and
    /// the value that was read.
    is_followed_by_another: bool,
}

/// The result of the search for the load that an announcement belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Load {
    /// The code has no such load.
    None,
    /// Several loads may be those of the announcement.
    Unclear,
    /// One load is certainly that of the announcement.
    Found,
}

/// The properties of the code after an announcement.
#[derive(Clone, Copy, Default)]
struct After {
    has_comparison: bool,
    /// Whether the code uses memory that is not in the stack frame, except for the announced load.
    uses_other_memory: bool,
}

/// A walk through the code of a function, with the values that are known in straight-line code.
struct Walk {
    info: InstructionInfoFactory,
    labels: HashSet<u64>,
    registers: HashMap<Register, Value>,
    /// The words of the stack frame, by their distance from the frame pointer.
    slots: HashMap<i64, Value>,
    /// The words of [`spill_slots`].
    spilled: HashSet<i64>,
    /// The values of the spilled words. They are known in the whole function: the compiler puts
    /// each use of a value after its definition, and computes the value again if its inputs have
    /// changed.
    spills: HashMap<i64, Value>,
    last_origin: u32,
    /// The reads in each block: straight-line code without other calls.
    blocks: Vec<Vec<Read>>,
    /// Whether the load of the last read may still come.
    is_open: bool,
    /// The code after the last read.
    after: After,
}

impl Walk {
    fn visit(&mut self, at: usize, instruction: &Instruction, target: Option<Target>) {
        if self.labels.contains(&instruction.ip()) {
            self.end_block();
        }
        let options = InstructionInfoOptions::NONE;
        let info = self.info.info_options(instruction, options);
        let memory: Vec<UsedMemory> = info.used_memory().to_vec();
        let written = info.used_registers().iter();
        let written = written.filter(|it| !matches!(it.access(), OpAccess::Read | OpAccess::None));
        let written: Vec<_> = written.map(|it| it.register().full_register()).collect();

        if self.is_open && !is_of_stack(instruction) {
            for it in memory.iter().filter(|it| is_read(it)) {
                self.load(it, target);
            }
        }
        if let Some(Target::Hook(Hook::Read(size))) = target {
            let uses_other_memory = self.after.uses_other_memory;
            if let Some(last) = self.last_read_of_block() {
                last.is_followed_by_another = !uses_other_memory;
            }
            let address = self.value(Register::RDI);
            let load = match address.origin {
                FRAME => Load::Unclear,
                _ => Load::None,
            };
            let read = Read {
                at,
                address,
                size,
                load,
                leads_to_decision: false,
                is_followed_by_another: false,
            };
            self.blocks.last_mut().expect("there is one").push(read);
            self.registers.clear();
            self.is_open = true;
            self.after = After::default();
        } else if instruction.flow_control() != FlowControl::Next {
            let is_decision = match instruction.flow_control() {
                FlowControl::ConditionalBranch => true,
                FlowControl::UnconditionalBranch | FlowControl::Return => self.after.has_comparison,
                _ => false,
            } && !self.after.uses_other_memory;
            if self.is_open
                && let Some(read) = self.last_read()
            {
                read.leads_to_decision = is_decision;
            }
            self.end_block();
            self.is_open = false;
        } else {
            self.after.has_comparison |= is_comparison(instruction);
            let result = self.result(instruction);
            for register in written {
                self.registers.remove(&register);
            }
            if let Some(value) = result {
                self.registers.insert(instruction.op0_register(), value);
            }
            if !is_of_stack(instruction) {
                for it in memory.iter().filter(|it| is_written(it)) {
                    self.store(instruction, it);
                }
            }
        }
    }

    fn last_read_of_block(&mut self) -> Option<&mut Read> {
        self.blocks.last_mut()?.last_mut()
    }

    fn last_read(&mut self) -> Option<&mut Read> {
        let mut blocks = self.blocks.iter_mut().rev();
        blocks.find_map(|block| block.last_mut())
    }

    /// Forgets all values: the code after this may be reached from elsewhere.
    fn end_block(&mut self) {
        self.registers.clear();
        self.slots.clear();
        self.blocks.push(Vec::new());
    }

    fn unknown(&mut self) -> Value {
        self.last_origin += 1;
        Value {
            origin: self.last_origin,
            offset: 0,
        }
    }

    fn value(&mut self, register: Register) -> Value {
        if register == Register::RBP {
            return Value {
                origin: FRAME,
                offset: 0,
            };
        }
        let unknown = self.unknown();
        *self.registers.entry(register).or_insert(unknown)
    }

    /// The value that an instruction puts into its first operand, if this is a register and the
    /// value can be derived from known ones.
    fn result(&mut self, instruction: &Instruction) -> Option<Value> {
        let register = instruction.op0_register();
        if instruction.op0_kind() != OpKind::Register || !register.is_gpr64() {
            return None;
        }
        let is_plain = instruction.memory_index() == Register::None
            && instruction.segment_prefix() == Register::None;
        let base = instruction.memory_base();
        let displacement = instruction.memory_displacement64();
        match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Mov, OpKind::Register) => Some(self.value(instruction.op1_register())),
            (Mnemonic::Mov, OpKind::Memory) if is_plain && base == Register::RBP => {
                let unknown = self.unknown();
                let slot = displacement.cast_signed();
                let words = if self.spilled.contains(&slot) {
                    &mut self.spills
                } else {
                    &mut self.slots
                };
                Some(*words.entry(slot).or_insert(unknown))
            }
            // With this base, the displacement of the decoder is the address itself.
            (Mnemonic::Lea, OpKind::Memory) if is_plain && base == Register::RIP => {
                Some(Value::of_static(displacement))
            }
            (Mnemonic::Lea, OpKind::Memory) if is_plain && base.is_gpr64() => {
                Some(self.value(base).plus(displacement))
            }
            (Mnemonic::Inc, _) => Some(self.value(register).plus(1)),
            (Mnemonic::Add, OpKind::Immediate8to64 | OpKind::Immediate32to64) => {
                Some(self.value(register).plus(instruction.immediate(1)))
            }
            _ => None,
        }
    }

    /// Checks whether a load of `memory` is that of the last announced read, and records the
    /// result.
    fn load(&mut self, memory: &UsedMemory, target: Option<Target>) {
        let has_base = memory.index() == Register::None && memory.base().is_gpr64();
        let is_frame = has_base && memory.base() == Register::RBP;
        let is_static = memory.index() == Register::None
            && memory.base() == Register::None
            && !matches!(memory.segment(), Register::FS | Register::GS);
        // A call through a table of the linker reads the address of the called function from this
        // table. This is not the announced load.
        let is_of_linker = target.is_some() && is_static;
        if is_frame || is_of_linker {
            return;
        }
        let is_plain = has_base || is_static;
        let from = if is_static {
            Value::of_static(memory.displacement())
        } else {
            self.value(memory.base()).plus(memory.displacement())
        };
        let size = memory.memory_size().size() as u64;
        let Some(read) = self.last_read() else {
            return;
        };
        let is_same = is_plain && from.origin == read.address.origin;
        let distance = from.offset.wrapping_sub(read.address.offset);
        let is_apart = |distance: i64, size: u64| {
            u64::try_from(distance).is_ok_and(|distance| size > 0 && distance >= size)
        };
        let end = u64::try_from(distance).map(|distance| distance.saturating_add(size));
        if is_same && size > 0 && end.is_ok_and(|end| end <= read.size) {
            read.load = Load::Found;
            return;
        }
        let is_apart = is_apart(distance, read.size) || is_apart(distance.wrapping_neg(), size);
        if read.load == Load::None && !(is_same && is_apart) {
            read.load = Load::Unclear;
        }
        self.after.uses_other_memory = true;
    }

    /// Updates the words of the stack frame after a store.
    fn store(&mut self, instruction: &Instruction, memory: &UsedMemory) {
        let size = memory.memory_size().size();
        if memory.base() != Register::RBP || memory.index() != Register::None || size == 0 {
            // The pointer may lead to a variable in the frame, so no word of it is known any more.
            self.slots.clear();
            self.after.uses_other_memory = true;
            return;
        }
        let start = memory.displacement().cast_signed();
        let end = start.saturating_add(i64::try_from(size).unwrap_or(i64::MAX));
        self.slots
            .retain(|slot, _| slot.saturating_add(8) <= start || end <= *slot);
        if is_word_store(instruction) {
            let value = self.value(instruction.op1_register());
            if self.spilled.contains(&start) {
                self.spills.insert(start, value);
            } else {
                self.slots.insert(start, value);
            }
        }
    }
}

/// Whether an instruction compares something with a constant.
fn is_comparison(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Test => true,
        Mnemonic::Cmp => instruction.try_immediate(1).is_ok(),
        _ => false,
    }
}

/// Whether an instruction only moves the stack's end or the frame.
fn is_of_stack(instruction: &Instruction) -> bool {
    use Mnemonic::{Leave, Pop, Push, Ret};
    let has_memory =
        (0..instruction.op_count()).any(|at| instruction.op_kind(at) == OpKind::Memory);
    matches!(instruction.mnemonic(), Push | Pop | Leave | Ret) && !has_memory
}

fn is_read(memory: &UsedMemory) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(memory.access(), Read | CondRead | ReadWrite | ReadCondWrite)
}

fn is_written(memory: &UsedMemory) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(
        memory.access(),
        Write | CondWrite | ReadWrite | ReadCondWrite
    )
}

#[cfg(test)]
mod tests;
