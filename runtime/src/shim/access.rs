//! The calls by which rewritten code announces its memory accesses, immediately before each of
//! them.
//!
//! The rewriter inserts a call of one of these functions before the access, or around the address
//! of the place. The access itself stays in the user's code. A place is given by a pointer, which
//! may be unaligned, but not dangling. The rewriter knows only the names of the methods of
//! pointers. So the `_through` functions get the address of the receiver, and that of an argument
//! that may be a pointer. The type of the receiver decides whether it is a pointer at all; the size
//! of its target also holds for the argument.

use std::cell::{Ref, RefMut};
use std::marker::Freeze;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;
use std::ptr::NonNull;
use std::rc::Rc;

use super::memory;
use super::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use crate::execution::Site;
use crate::platform::observers::observes_accesses;

/// Announces a read of `*place`.
#[inline]
#[track_caller]
pub fn read<T: ?Sized>(place: *const T) -> *const T {
    observes_accesses();
    memory::announce_read(place.cast(), size_of_place(place), rewritten());
    place
}

/// Announces a read of all or a part of `*place`, by a pattern or a comparison. Which part is
/// unknown, unless there is only one.
#[inline]
#[track_caller]
pub fn inspect<T: ?Sized>(place: *const T) -> *const T {
    observes_accesses();
    if T::IS_SCALAR {
        memory::announce_read(place.cast(), size_of_place(place), rewritten());
    }
    place
}

/// Announces a write to `*place`. The old value is dropped first. If other code may refer to that
/// value (it is not `Unpin`), perhaps only its destructor ends these references: then the memory is
/// not written as a whole at this time.
#[inline]
#[track_caller]
pub fn write<T: ?Sized>(place: *const T) -> *mut T {
    observes_accesses();
    if !T::IS_UNIQUE && std::mem::needs_drop::<T>() {
        return place.cast_mut();
    }
    memory::announce_write(place.cast(), size_of_place(place), rewritten());
    place.cast_mut()
}

/// Announces a read of `*place`, followed by a write: `+=` and similar operators.
#[inline]
#[track_caller]
pub fn update<T: ?Sized>(place: *const T) -> *mut T {
    observes_accesses();
    if !T::IS_UNIQUE && std::mem::needs_drop::<T>() {
        memory::announce_read(place.cast(), size_of_place(place), rewritten());
    } else {
        memory::announce_update(place.cast(), size_of_place(place), rewritten());
    }
    place.cast_mut()
}

/// Announces a shared reference to `*place`. As in Miri, this counts as a read, unless others may
/// change a part of it meanwhile.
#[inline]
#[track_caller]
pub fn borrow<T: ?Sized>(place: *const T) -> *const T {
    observes_accesses();
    if T::IS_FROZEN {
        memory::announce_borrow(place.cast(), size_of_place(place), rewritten());
    }
    place
}

/// Announces a unique reference to `*place`. As in Miri, this counts as a write, unless other code
/// may refer to the value (it is not `Unpin`).
#[inline]
#[track_caller]
pub fn borrow_mut<T: ?Sized>(place: *const T) -> *mut T {
    observes_accesses();
    if T::IS_UNIQUE {
        memory::announce_borrow_mut(place.cast(), size_of_place(place), rewritten());
    }
    place.cast_mut()
}

/// Announces that `*place` is the receiver of a method, or is called: it is read or borrowed,
/// shared or uniquely.
#[inline]
#[track_caller]
pub fn receive<T: ?Sized>(place: *const T) {
    borrow(place);
}

/// Announces a call of `receiver.read()`, or of a similar method.
#[inline]
#[track_caller]
pub fn read_through<R>(receiver: *const R) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        memory::read(target.address, target.size);
    }
}

/// Announces a call of `receiver.write(..)`, or of a similar method.
#[inline]
#[track_caller]
pub fn write_through<R>(receiver: *const R) {
    write_bytes_through(receiver, 1);
}

/// Announces a call of `receiver.write_bytes(.., count)`.
#[inline]
#[track_caller]
pub fn write_bytes_through<R>(receiver: *const R, count: usize) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        memory::write(target.address, target.size.wrapping_mul(count));
    }
}

/// Announces a call of `receiver.replace(..)`.
#[inline]
#[track_caller]
pub fn update_through<R>(receiver: *const R) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        memory::update(target.address, target.size);
    }
}

/// Announces a call of `receiver.swap(*other)`.
#[inline]
#[track_caller]
pub fn swap_through<R, A>(receiver: *const R, other: *const A) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        memory::update(target.address, target.size);
        if let Some(other) = A::address(other) {
            memory::update(other, target.size);
        }
    }
}

/// Announces a call of `receiver.copy_from(*source, count)`, or of a similar method.
#[inline]
#[track_caller]
pub fn copy_from_through<R, A>(receiver: *const R, source: *const A, count: usize) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        let size = target.size.wrapping_mul(count);
        if let Some(source) = A::address(source) {
            memory::read(source, size);
        }
        memory::write(target.address, size);
    }
}

/// Announces a call of `receiver.copy_to(*destination, count)`, or of a similar method.
#[inline]
#[track_caller]
pub fn copy_to_through<R, A>(receiver: *const R, destination: *const A, count: usize) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        let size = target.size.wrapping_mul(count);
        memory::read(target.address, size);
        if let Some(destination) = A::address(destination) {
            memory::write(destination, size);
        }
    }
}

/// Announces a call of `receiver.as_ref()`, or of a similar method.
#[inline]
#[track_caller]
pub fn borrow_through<R>(receiver: *const R) {
    observes_accesses();
    if let Some(target) = R::target(receiver)
        && target.is_frozen
        && !target.is_owned
    {
        memory::borrow(target.address, target.size);
    }
}

/// Announces a call of `receiver.as_mut()`, or of a similar method.
#[inline]
#[track_caller]
pub fn borrow_mut_through<R>(receiver: *const R) {
    observes_accesses();
    if let Some(target) = R::target(receiver)
        && target.is_unique
        && !target.is_owned
    {
        memory::borrow_mut(target.address, target.size);
    }
}

/// Announces a call of `receiver.drop_in_place()`, or of a similar method. As in [`write()`], it
/// does not count as a write of a value that other code may refer to.
#[inline]
#[track_caller]
pub fn drop_through<R>(receiver: *const R) {
    observes_accesses();
    if let Some(target) = R::target(receiver)
        && target.needs_drop
        && target.is_unique
    {
        memory::write(target.address, target.size);
    }
}

/// The line of an access, and that its code is explored, because it was rewritten.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
#[track_caller]
fn rewritten() -> (Site, bool) {
    (Location::caller(), true)
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it makes few instructions, and the user's crate may be compiled without optimisation"
)]
fn size_of_place<T: ?Sized>(place: *const T) -> usize {
    // SAFETY: the place is about to be accessed, so that the pointer's metadata (length or type) is
    // valid.
    unsafe { std::mem::size_of_val_raw(place) }
}

/// The memory that a receiver's methods access.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a property of its own, known when the program is compiled"
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Target {
    address: *const u8,
    size: usize,
    is_frozen: bool,
    is_unique: bool,
    needs_drop: bool,
    /// The pointer to it is in a `Box` or a guard, which may have its own `as_ref`.
    is_owned: bool,
}

impl Target {
    fn new<T: ?Sized>(place: *const T) -> Option<Self> {
        let target = Self {
            address: place.cast(),
            size: size_of_place(place),
            is_frozen: T::IS_FROZEN,
            is_unique: T::IS_UNIQUE,
            needs_drop: std::mem::needs_drop::<T>(),
            is_owned: false,
        };
        // `as_ref` of a null pointer is not an access.
        (!place.is_null()).then_some(target)
    }
}

/// A possible receiver of a method by which code accesses memory.
trait Receiver {
    /// The accessed memory; `None` unless the receiver is a pointer, or memory that may be
    /// uninitialised.
    fn target(this: *const Self) -> Option<Target>;
}

impl<R: ?Sized> Receiver for R {
    default fn target(_: *const Self) -> Option<Target> {
        None
    }
}

impl<T: ?Sized> Receiver for *const T {
    fn target(this: *const Self) -> Option<Target> {
        // SAFETY: a method of the pointer is about to be called.
        Target::new(unsafe { *this })
    }
}

impl<T: ?Sized> Receiver for *mut T {
    fn target(this: *const Self) -> Option<Target> {
        // SAFETY: as above.
        Target::new(unsafe { *this }.cast_const())
    }
}

impl<T: ?Sized> Receiver for NonNull<T> {
    fn target(this: *const Self) -> Option<Target> {
        // SAFETY: as above.
        Target::new(unsafe { *this }.as_ptr().cast_const())
    }
}

impl<T> Receiver for MaybeUninit<T> {
    fn target(this: *const Self) -> Option<Target> {
        Target::new(this)
    }
}

impl<R: ?Sized> Receiver for &R {
    fn target(this: *const Self) -> Option<Target> {
        // SAFETY: as above.
        R::target(unsafe { *this })
    }
}

impl<R: ?Sized> Receiver for &mut R {
    fn target(this: *const Self) -> Option<Target> {
        // SAFETY: as above; it is read, not moved.
        R::target(unsafe { &raw const **this })
    }
}

/// Owners and guards of a value, which forward method calls to it. One more call of their `deref`
/// has no effect; of other types that dereference, this is unknown.
macro_rules! owners {
    ($($owner:ty)*) => {
        $(impl<R: ?Sized> Receiver for $owner {
            fn target(this: *const Self) -> Option<Target> {
                // SAFETY: as above; the value is only inspected.
                let value: &R = unsafe { &*this };
                R::target(value).map(|target| Target { is_owned: true, ..target })
            }
        })*
    };
}

owners! {
    Box<R> Rc<R> Arc<R> ManuallyDrop<R> Ref<'_, R> RefMut<'_, R> MutexGuard<'_, R>
    RwLockReadGuard<'_, R> RwLockWriteGuard<'_, R>
}

/// A possible pointer argument of a pointer's method: a pointer, or a reference.
trait Argument {
    /// The address that it points to; `None` if it is not a pointer.
    fn address(this: *const Self) -> Option<*const u8>;
}

impl<A: ?Sized> Argument for A {
    default fn address(_: *const Self) -> Option<*const u8> {
        None
    }
}

macro_rules! arguments {
    ($($pointer:ty, $argument:ident => $address:expr;)*) => {
        $(impl<T> Argument for $pointer {
            fn address(this: *const Self) -> Option<*const u8> {
                // SAFETY: it is about to be passed to a method, so that it is initialised.
                let $argument = unsafe { &*this };
                let address: *const T = $address;
                Some(address.cast())
            }
        })*
    };
}

arguments! {
    *const T, argument => *argument;
    *mut T, argument => *argument;
    &T, argument => *argument;
    &mut T, argument => &raw const **argument;
    NonNull<T>, argument => argument.as_ptr();
}

/// Properties of references to a type.
pub(super) trait Referred {
    /// The target of a shared reference does not change.
    const IS_FROZEN: bool;
    /// The target of a unique reference has no other user.
    const IS_UNIQUE: bool;
    /// It is read as a whole or not at all.
    const IS_SCALAR: bool;
}

impl<T: ?Sized> Referred for T {
    const IS_FROZEN: bool = T::HAS_NO_CELL;
    const IS_UNIQUE: bool = T::IS_UNPIN;
    default const IS_SCALAR: bool = false;
}

trait HasNoCell {
    const HAS_NO_CELL: bool;
}

impl<T: ?Sized> HasNoCell for T {
    default const HAS_NO_CELL: bool = false;
}

impl<T: ?Sized + Freeze> HasNoCell for T {
    const HAS_NO_CELL: bool = true;
}

trait IsUnpin {
    const IS_UNPIN: bool;
}

impl<T: ?Sized> IsUnpin for T {
    default const IS_UNPIN: bool = false;
}

impl<T: ?Sized + Unpin> IsUnpin for T {
    const IS_UNPIN: bool = true;
}

macro_rules! scalars {
    ($($scalar:ty)*) => {
        $(impl Referred for $scalar {
            const IS_SCALAR: bool = true;
        })*
    };
}

scalars!(bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

impl<T> Referred for *const T {
    const IS_SCALAR: bool = true;
}

impl<T> Referred for *mut T {
    const IS_SCALAR: bool = true;
}
