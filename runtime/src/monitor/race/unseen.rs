//! The state of opaque code, whose operations are not seen, in an execution.

use super::clock::Clock;
use crate::base::address_table::AddressTable;
use crate::base::memory::{EngineVec, engine_vec};
use crate::memory::Word;

/// The address that represents all objects of opaque code.
pub(super) const UNSEEN: usize = 24;

/// The state of opaque code in an execution.
pub(super) struct Unseen {
    /// Some task has called opaque code.
    pub(super) has_run: bool,
    /// The index of each atomic in `values`, by address.
    numbers: AddressTable,
    /// The value of each atomic after the program's last operation on it.
    values: EngineVec<Word>,
    /// The running operation reads a value that is not the one in `values`: opaque code may have
    /// stored this value.
    pub(super) has_written: bool,
    /// A clock for temporary use, kept to reuse its allocation.
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

    /// Records the value of an atomic. Returns whether the same value was recorded before.
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

    /// Returns whether opaque code may have stored the value of the running operation's atomic,
    /// and clears this flag.
    pub(super) fn take_written(&mut self) -> bool {
        core::mem::take(&mut self.has_written)
    }
}
