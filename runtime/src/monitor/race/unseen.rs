//! The state of opaque code, whose operations are not seen, in an execution.

use super::clock::Clock;
use crate::base::address_table::AddressTable;
use crate::base::memory::{EngineVec, engine_vec};
use crate::memory::Word;

/// Stands for all objects of code that is not seen.
pub(super) const UNSEEN: usize = 24;

/// The part of opaque code in an execution.
pub(super) struct Unseen {
    /// Some task has called it.
    pub(super) has_run: bool,
    /// The numbers of atomics, and the values that they had after their last operation by the
    /// program.
    numbers: AddressTable,
    values: EngineVec<Word>,
    /// The atomic of the running operation has another value: opaque code may have stored it.
    pub(super) has_written: bool,
    /// A clock that is used again, for its allocation.
    pub(super) clock: Clock,
}

impl Unseen {
    pub(super) const fn new() -> Self {
        Self {
            has_run: false,
            numbers: AddressTable::new(),
            values: engine_vec(),
            has_written: false,
            clock: Clock::new(),
        }
    }

    /// Begins a new execution.
    pub(super) fn begin(&mut self) {
        self.has_run = false;
        self.has_written = false;
        self.values.clear();
    }

    /// Records the value of an atomic. Returns whether it had the same one before.
    pub(super) fn keep(&mut self, address: usize, value: Word) -> bool {
        if self.values.is_empty() {
            self.numbers.clear();
        }
        let number = self.numbers.at(address, self.values.len() as u32) as usize;
        if let Some(known) = self.values.get_mut(number) {
            return core::mem::replace(known, value) == value;
        }
        self.values.push(value);
        false
    }

    /// Whether opaque code may have written the value of the running operation's atomic.
    pub(super) fn take_written(&mut self) -> bool {
        core::mem::take(&mut self.has_written)
    }
}
