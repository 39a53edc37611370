//! What rewritten code tells of its memory accesses, right before each of them.
//!
//! The rewriter puts a call of one of these functions before the access, or around
//! the address of the place; what accesses the memory stays in the user's code. A
//! place is given by a pointer, and may be unaligned, but not dangling. The methods
//! of pointers are known by their names only, so `_through` functions are given the
//! address of the receiver, and of an argument that may be a pointer. The receiver's type
//! tells whether it is a pointer at all; the size of what it points to holds for the argument too.

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

/// `*place` is read.
#[inline]
#[track_caller]
pub fn read<T: ?Sized>(place: *const T) -> *const T {
    observes_accesses();
    memory::tell_read(place.cast(), size_of_place(place), rewritten());
    place
}

/// `*place` is read in whole or in part: a pattern is matched, values are compared.
/// Which part is not known, unless there is but one.
#[inline]
#[track_caller]
pub fn inspect<T: ?Sized>(place: *const T) -> *const T {
    observes_accesses();
    if T::IS_SCALAR {
        memory::tell_read(place.cast(), size_of_place(place), rewritten());
    }
    place
}

/// `*place` is written. What was there is dropped first, and where others may refer to that
/// (it is not `Unpin`), it may be its destructor that makes them stop: then not all of it is
/// written now.
#[inline]
#[track_caller]
pub fn write<T: ?Sized>(place: *const T) -> *mut T {
    observes_accesses();
    if !T::IS_UNIQUE && std::mem::needs_drop::<T>() {
        return place.cast_mut();
    }
    memory::tell_write(place.cast(), size_of_place(place), rewritten());
    place.cast_mut()
}

/// `*place` is read, then written: `+=` and the like.
#[inline]
#[track_caller]
pub fn update<T: ?Sized>(place: *const T) -> *mut T {
    observes_accesses();
    if !T::IS_UNIQUE && std::mem::needs_drop::<T>() {
        memory::tell_read(place.cast(), size_of_place(place), rewritten());
    } else {
        memory::tell_update(place.cast(), size_of_place(place), rewritten());
    }
    place.cast_mut()
}

/// A shared reference to `*place` is made. As in Miri, this counts as a read of it,
/// unless others may change a part of it meanwhile.
#[inline]
#[track_caller]
pub fn borrow<T: ?Sized>(place: *const T) -> *const T {
    observes_accesses();
    if T::IS_FROZEN {
        memory::tell_borrow(place.cast(), size_of_place(place), rewritten());
    }
    place
}

/// A unique reference to `*place` is made. As in Miri, this counts as a write to it,
/// unless what is there may be referred to from elsewhere (it is not `Unpin`).
#[inline]
#[track_caller]
pub fn borrow_mut<T: ?Sized>(place: *const T) -> *mut T {
    observes_accesses();
    if T::IS_UNIQUE {
        memory::tell_borrow_mut(place.cast(), size_of_place(place), rewritten());
    }
    place.cast_mut()
}

/// `*place` is the receiver of a method, or is called: it is read or borrowed, shared or not.
#[inline]
#[track_caller]
pub fn receive<T: ?Sized>(place: *const T) {
    borrow(place);
}

/// `receiver.read()`, or one of its like, is called.
#[inline]
#[track_caller]
pub fn read_through<R>(receiver: *const R) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        memory::read(target.address, target.size);
    }
}

/// `receiver.write(..)`, or one of its like, is called.
#[inline]
#[track_caller]
pub fn write_through<R>(receiver: *const R) {
    write_bytes_through(receiver, 1);
}

/// `receiver.write_bytes(.., count)` is called.
#[inline]
#[track_caller]
pub fn write_bytes_through<R>(receiver: *const R, count: usize) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        memory::write(target.address, target.size.wrapping_mul(count));
    }
}

/// `receiver.replace(..)` is called.
#[inline]
#[track_caller]
pub fn update_through<R>(receiver: *const R) {
    observes_accesses();
    if let Some(target) = R::target(receiver) {
        memory::update(target.address, target.size);
    }
}

/// `receiver.swap(*other)` is called.
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

/// `receiver.copy_from(*source, count)`, or its like, is called.
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

/// `receiver.copy_to(*destination, count)`, or its like, is called.
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

/// `receiver.as_ref()`, or one of its like, is called.
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

/// `receiver.as_mut()`, or one of its like, is called.
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

/// `receiver.drop_in_place()`, or one of its like, is called: as in [`write()`], not a write of
/// what others may refer to.
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

/// The line that an access is told of at: as it was rewritten, it is explored.
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
    // SAFETY: the place is about to be accessed, so what the pointer says of its
    // length or type holds.
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
    /// The pointer to it lies in a `Box` or a guard, which may have an `as_ref` of its own.
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
        // `as_ref` of a null pointer is no access.
        (!place.is_null()).then_some(target)
    }
}

/// What may be the receiver of a method by which code accesses memory.
trait Receiver {
    /// What is accessed; `None` unless the receiver is a pointer, or memory that
    /// may not be initialised.
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

/// Owners and guards of a value, to which their methods are passed on. That they are asked
/// for it once more has no effect; of other types that dereference, this is not known.
macro_rules! owners {
    ($($owner:ty)*) => {
        $(impl<R: ?Sized> Receiver for $owner {
            fn target(this: *const Self) -> Option<Target> {
                // SAFETY: as above; it is only looked at.
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

/// What may be given for a pointer to a method of a pointer: a pointer, or a reference.
trait Argument {
    /// Where it points; `None` if it is no pointer.
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
                // SAFETY: it is about to be given to a method, so it is there.
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

/// What references to a type promise.
pub(super) trait Referred {
    /// Nobody changes what a shared reference points to.
    const IS_FROZEN: bool;
    /// Nobody else uses what a unique reference points to.
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
