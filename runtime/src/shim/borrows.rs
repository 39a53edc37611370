//! The calls by which rewritten code announces a reference to raw memory, immediately before it
//! creates the reference. The creation of a reference has no code that instrumentation could find.
//!
//! The rewriter inserts a call of one of these functions before the borrow, or around the address
//! of the place. The borrow itself stays in the user's code. A place is given by a pointer, which
//! may be unaligned, but not dangling. The rewriter sees no types: in a method call such as
//! `p.as_ref()`, `p` may be a pointer or another value. So the `_through` functions get the
//! address of the receiver, and the compiler selects their behaviour by the type of the receiver.

use std::cell::{Ref, RefMut};
use std::marker::Freeze;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;
use std::ptr::NonNull;
use std::rc::Rc;

use super::memory;
use super::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use crate::execution::Site;

/// Announces a shared reference to `*place`, and returns `place`. As in Miri, the reference counts
/// as a read of the whole value. It does not count if the value contains an `UnsafeCell`.
#[inline]
#[track_caller]
pub fn borrow<T: ?Sized>(place: *const T) -> *const T {
    if T::IS_FROZEN {
        memory::borrow(place.cast(), size_of_place(place), rewritten());
    }
    place
}

/// Announces a unique reference to `*place`, and returns `place`. As in Miri, the reference counts
/// as a write of the whole value. It does not count if the type is not `Unpin`, because other
/// references to such a value are permitted.
#[inline]
#[track_caller]
pub fn borrow_mut<T: ?Sized>(place: *const T) -> *mut T {
    if T::IS_UNIQUE {
        memory::borrow_mut(place.cast(), size_of_place(place), rewritten());
    }
    place.cast_mut()
}

/// Announces the shared reference that a call of `receiver.as_ref()`, or of a similar method,
/// creates: see [`borrow`]. No effect if the receiver is neither a pointer nor a `MaybeUninit`, or
/// if it may have its own method of this name.
#[inline]
#[track_caller]
pub fn borrow_through<R>(receiver: *const R) {
    if let Some(target) = R::target(receiver)
        && target.is_frozen
        && !target.is_owned
    {
        memory::borrow(target.address, target.size, rewritten());
    }
}

/// Announces the unique reference that a call of `receiver.as_mut()`, or of a similar method,
/// creates: see [`borrow_mut`]. No effect if the receiver is neither a pointer nor a
/// `MaybeUninit`, or if it may have its own method of this name.
#[inline]
#[track_caller]
pub fn borrow_mut_through<R>(receiver: *const R) {
    if let Some(target) = R::target(receiver)
        && target.is_unique
        && !target.is_owned
    {
        memory::borrow_mut(target.address, target.size, rewritten());
    }
}

/// Announces a call of `receiver.drop_in_place()`, or of a similar method. If the receiver is a
/// pointer to a value that has a destructor, the call counts as a unique reference to the value:
/// see [`borrow_mut`].
#[inline]
#[track_caller]
pub fn drop_through<R>(receiver: *const R) {
    if let Some(target) = R::target(receiver)
        && target.needs_drop
        && target.is_unique
    {
        memory::borrow_mut(target.address, target.size, rewritten());
    }
}

/// Returns the line of a borrow, and whether the code of this line is explored. This flag is
/// always true, because only explored code is rewritten.
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
    // SAFETY: the place is about to be borrowed, so that the pointer's metadata (length or type) is
    // valid.
    unsafe { std::mem::size_of_val_raw(place) }
}

/// The memory that methods such as `as_ref` borrow if they are called on a receiver.
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
    /// Whether the receiver is a `Box`, a guard or another owner of the pointer to this memory.
    /// Then a call of `as_ref` may be a call of the owner's own method.
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
        // `as_ref` of a null pointer borrows nothing.
        (!place.is_null()).then_some(target)
    }
}

/// A possible receiver of a method by which code borrows memory.
trait Receiver {
    /// The borrowed memory; `None` unless the receiver is a pointer, or memory that may be
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

/// Implements [`Receiver`] for owners and guards of a value, which forward method calls to the
/// value by `deref`. The implementation calls `deref` once more than the program. This has no
/// effect for these types, but it may have an effect for other types that implement `Deref`.
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

/// Properties of references to a type.
pub(super) trait Referred {
    /// Whether the target of a shared reference cannot change, because it contains no
    /// `UnsafeCell`.
    const IS_FROZEN: bool;
    /// Whether no other reference to the target of a unique reference is permitted, because the
    /// target is `Unpin`.
    const IS_UNIQUE: bool;
}

impl<T: ?Sized> Referred for T {
    const IS_FROZEN: bool = T::HAS_NO_CELL;
    const IS_UNIQUE: bool = T::IS_UNPIN;
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
