//! The calls at the start of the methods that `[[exclusive]]` in Chess.toml selects.

use std::panic::Location;

use crate::execution::{self, Mode, Site};

/// The number of bits of an address of the program.
const ADDRESS_BITS: u32 = 48;

/// The lowest number by which the engine identifies the method calls on an object of the program.
/// The numbers of descriptors are higher.
const FIRST: usize = 1 << 62;

/// A call in progress of a method that `[[exclusive]]` in Chess.toml selects. The drop of this
/// value ends the call, also during unwinding.
#[derive(Debug)]
pub struct ObjectCall {
    object: usize,
    mode: Mode,
    site: Site,
}

impl Drop for ObjectCall {
    #[inline]
    fn drop(&mut self) {
        execution::end_call(self.object, self.mode, self.site);
    }
}

/// Begins a call of an exclusive method of `object`: no call of another task on the object may
/// overlap it. `names` are the names of the object's type and of the method. `entry` is the number
/// of the type. An object and its first field may have the same address, but their types have
/// different numbers. Returns `None` outside an execution, for an object without a size, or if the
/// task is already in an exclusive call on this object.
#[inline]
#[track_caller]
#[must_use]
pub fn exclusive<T: ?Sized>(
    object: *const T,
    entry: usize,
    names: (&'static str, &'static str),
) -> Option<ObjectCall> {
    begin(object, entry, Mode::Exclusive, names, Location::caller())
}

/// Begins a call of a shared method of `object`: no exclusive call of another task on the object
/// may overlap it. The arguments are those of [`exclusive`]. Returns `None` outside an execution,
/// for an object without a size, or if the task is already in a call on this object.
#[inline]
#[track_caller]
#[must_use]
pub fn shared<T: ?Sized>(
    object: *const T,
    entry: usize,
    names: (&'static str, &'static str),
) -> Option<ObjectCall> {
    begin(object, entry, Mode::Shared, names, Location::caller())
}

#[inline]
fn begin<T: ?Sized>(
    object: *const T,
    entry: usize,
    mode: Mode,
    names: (&'static str, &'static str),
    site: Site,
) -> Option<ObjectCall> {
    // SAFETY: the pointer is that of the method's receiver, so that its metadata is valid.
    let bytes = unsafe { std::mem::size_of_val_raw(object) };
    // Objects without a size may share an address, and would be mistaken for one object.
    if !execution::active() || bytes == 0 {
        return None;
    }
    let object = number_of(object.addr(), entry);
    // Not `then_some`: it would create an `ObjectCall` even if no call began, and its drop would
    // end one.
    execution::begin_call(object, mode, names, site).then(|| ObjectCall { object, mode, site })
}

/// The number by which the engine identifies the method calls on the object at `address`. `entry`
/// is the number of the object's type.
const fn number_of(address: usize, entry: usize) -> usize {
    let entry = entry & ((1 << (62 - ADDRESS_BITS)) - 1);
    FIRST | entry << ADDRESS_BITS | address & ((1 << ADDRESS_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_a_number_for_each_of_its_types_and_none_of_other_objects() {
        let object = 0_u64;
        let address = (&raw const object).addr();
        let numbers = [number_of(address, 0), number_of(address, 1)];
        assert_ne!(numbers[0], numbers[1]);
        for number in numbers {
            assert!((FIRST..FIRST << 1).contains(&number));
            assert_ne!(number_of(address + 8, 0), number);
        }
    }

    #[test]
    fn outside_an_execution_there_is_no_call() {
        assert!(exclusive(&raw const *"ring", 0, ("Ring", "push")).is_none());
        assert!(shared(&(), 0, ("Unit", "len")).is_none());
    }
}
