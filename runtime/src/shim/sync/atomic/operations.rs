//! The common parts of all atomic types, as macros over their names.

/// Declares an atomic type with the methods and traits that all atomic types have.
macro_rules! atomic {
    ($Atomic:ident $(<$T:ident>)?, $value:ty, $v:ident, $val:ident) => {
        #[doc = concat!("See [`std::sync::atomic::", stringify!($Atomic), "`].")]
        #[repr(transparent)]
        pub struct $Atomic $(<$T>)? (std::sync::atomic::$Atomic $(<$T>)?);

        impl $(<$T>)? $Atomic $(<$T>)? {
            #[inline]
            pub const fn new($v: $value) -> Self {
                Self(std::sync::atomic::$Atomic::new($v))
            }

            #[inline]
            pub const unsafe fn from_ptr<'a>(ptr: *mut $value) -> &'a Self {
                // SAFETY: the caller upholds the requirements of the real function, and this type
                // is transparent over the real one.
                unsafe { &*ptr.cast::<Self>() }
            }

            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            #[inline]
            pub const fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.load_at(order, Location::caller())
            }

            /// As [`Self::load`], at the line `site`.
            #[inline]
            pub(crate) fn load_at(&self, order: Ordering, site: Site) -> $value {
                if execution::active() {
                    if race::keeps_stores() {
                        let load = |atomic: &Self| (atomic.0.load(order), false);
                        return self.weak(Op::AtomicLoad, Kind::Load, order, site, load);
                    }
                    execution::access(Op::AtomicLoad, self.object(), site);
                    self.report_value_before();
                    self.report(Op::AtomicLoad, How::Load, order, site);
                    let value = self.0.load(order);
                    saw(|| (Some(value), None));
                    value.was_read();
                    return value;
                }
                execution::condition_reads(self.object());
                self.0.load(order)
            }

            #[track_caller]
            pub fn store(&self, $val: $value, order: Ordering) {
                self.store_at($val, order, Location::caller());
            }

            /// As [`Self::store`], at the line `site`.
            #[inline]
            pub(crate) fn store_at(&self, $val: $value, order: Ordering, site: Site) {
                if execution::active() {
                    if race::keeps_stores() {
                        let store = |atomic: &Self| (atomic.0.store($val, order), true);
                        return self.weak(Op::AtomicStore, Kind::Store, order, site, store);
                    }
                    let store = || {
                        self.report(Op::AtomicStore, How::Store, order, site);
                        self.0.store($val, order);
                        self.report_value_after();
                        ((), Op::AtomicStore.effect())
                    };
                    execution::access_with(Op::AtomicStore, self.object(), Some(site), store);
                    saw(|| (None, Some($val)));
                    return;
                }
                execution::before_change();
                self.0.store($val, order);
            }

            #[track_caller]
            pub fn swap(&self, $val: $value, order: Ordering) -> $value {
                self.update_at(Op::AtomicSwap, order, Location::caller(), |atomic| {
                    atomic.swap($val, order)
                })
            }

            /// Performs `op`, which reads and writes the value in one step, at the line `site`.
            /// `update` performs it on the real atomic, and returns the previous value.
            #[inline]
            pub(crate) fn update_at(
                &self,
                op: Op,
                order: Ordering,
                site: Site,
                update: impl Fn(&std::sync::atomic::$Atomic $(<$T>)?) -> $value,
            ) -> $value {
                if execution::active() {
                    if race::keeps_stores() {
                        let update = |atomic: &Self| (update(&atomic.0), true);
                        return self.weak(op, Kind::Update, order, site, update);
                    }
                    let update = || {
                        self.report_value_before();
                        self.report(op, How::Exchange, order, site);
                        let value = update(&self.0);
                        self.report_value_after();
                        let is_kept = value.is(self.0.load(Ordering::Relaxed));
                        (value, change(order, is_kept))
                    };
                    let value = execution::access_with(op, self.object(), Some(site), update);
                    saw(|| (Some(value), Some(self.0.load(Ordering::Relaxed))));
                    return value;
                }
                execution::before_change();
                update(&self.0)
            }

            #[track_caller]
            #[deprecated(
                since = "1.50.0",
                note = "Use `compare_exchange` or `compare_exchange_weak` instead"
            )]
            pub fn compare_and_swap(
                &self,
                current: $value,
                new: $value,
                order: Ordering,
            ) -> $value {
                let failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    same => same,
                };
                let site = Location::caller();
                match self.exchange(Op::AtomicCompareAndSwap, current, new, order, failure, site) {
                    Ok(previous) | Err(previous) => previous,
                }
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let site = Location::caller();
                self.exchange(Op::AtomicCompareExchange, current, new, success, failure, site)
            }

            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (op, site) = (Op::AtomicCompareExchangeWeak, Location::caller());
                self.exchange_weak(op, current, new, success, failure, site)
            }

            #[inline]
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.try_update(set_order, fetch_order, f)
            }

            #[inline]
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let (op, site) = (Op::AtomicFetchUpdate, Location::caller());
                let mut previous = self.load(fetch_order);
                while let Some(next) = f(previous) {
                    match self.exchange_weak(op, previous, next, set_order, fetch_order, site) {
                        Err(changed) => previous = changed,
                        done => return done,
                    }
                }
                Err(previous)
            }

            #[inline]
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                match self.try_update(set_order, fetch_order, |previous| Some(f(previous))) {
                    Ok(previous) | Err(previous) => previous,
                }
            }

            #[inline]
            fn object(&self) -> usize {
                (&raw const *self).addr()
            }

            /// Reports the current value to the race detector, because opaque code may have stored
            /// it. Must be called before the report of an operation that reads the value.
            #[inline]
            fn report_value_before(&self) {
                if race::has_unseen() {
                    race::meet_value(self.object(), self.0.load(Ordering::Relaxed).word());
                }
            }

            /// Reports the value after an operation to the race detector. A comparison with this
            /// value shows later whether opaque code has stored another value.
            #[inline]
            fn report_value_after(&self) {
                if race::has_unseen() {
                    race::leave_value(self.object(), self.0.load(Ordering::Relaxed).word());
                }
            }

            /// Reports an access of the value to the race detector.
            #[inline]
            fn report(&self, op: Op, how: How, order: Ordering, site: Site) {
                let access = race::Atomic {
                    op,
                    how,
                    order,
                    site: Some(site),
                };
                race::atomic(self.object(), size_of::<$value>(), access);
            }

            /// Does the same as [`Self::report`], for a compare-exchange with this `result`. A
            /// failed compare-exchange is a load with the ordering `failure`.
            fn report_exchange<R>(
                &self,
                op: Op,
                result: Result<R, R>,
                success: Ordering,
                failure: Ordering,
                site: Site,
            ) {
                if result.is_ok() {
                    self.report(op, How::Exchange, success, site);
                } else {
                    self.report(op, How::Load, failure, site);
                }
            }

            pub(crate) fn exchange(
                &self,
                op: Op,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
                site: Site,
            ) -> Result<$value, $value> {
                if !execution::active() {
                    execution::before_change();
                    return self.0.compare_exchange(current, new, success, failure);
                }
                current.is_compared();
                if race::keeps_stores() {
                    return self.exchange_weakly(op, current, new, (success, failure), site, false);
                }
                execution::before(op, self.object(), site);
                self.report_value_before();
                let result = self.0.compare_exchange(current, new, success, failure);
                self.report_value_after();
                self.report_exchange(op, result, success, failure, site);
                let effect = exchange_effect(result, current, new, success);
                execution::effect(op, self.object(), effect, site);
                saw(|| exchanged(result, new));
                if let Err(value) = result {
                    value.was_read();
                }
                result
            }

            /// Performs a compare-exchange under a weak memory model. If `may_fail` is true, the
            /// search may let the compare-exchange fail spuriously.
            #[cold]
            fn exchange_weakly(
                &self,
                op: Op,
                current: $value,
                new: $value,
                orders: (Ordering, Ordering),
                site: Site,
                may_fail: bool,
            ) -> Result<$value, $value> {
                self.under_model(op, Kind::Update, orders, site, |atomic, is_tried| {
                    let would_succeed = atomic.0.load(Ordering::Relaxed) == current;
                    let fails = may_fail && !is_tried && would_succeed;
                    let result = if fails && execution::fails_spuriously() {
                        Err(current)
                    } else {
                        atomic.0.compare_exchange(current, new, orders.0, orders.1)
                    };
                    (result, result.is_ok())
                })
            }

            /// Performs an operation other than a compare-exchange under a weak memory model. Such
            /// an operation either always or never writes. `act` performs the operation, and
            /// returns its result and whether it has written.
            #[cold]
            fn weak<R>(
                &self,
                op: Op,
                kind: Kind,
                order: Ordering,
                site: Site,
                act: impl Fn(&Self) -> (R, bool),
            ) -> R {
                self.under_model(op, kind, (order, order), site, |atomic, _| act(atomic))
            }

            /// Performs an operation by `act`, on the atomic in memory or on a copy of an older
            /// store that the search chooses. `act` returns the result of the operation, and
            /// whether the operation has written. Calls of `act` with the flag `true` get a copy,
            /// and only determine whether the operation would write.
            fn under_model<R>(
                &self,
                op: Op,
                kind: Kind,
                orders: (Ordering, Ordering),
                site: Site,
                act: impl Fn(&Self, bool) -> (R, bool),
            ) -> R {
                let place = (self.object(), size_of::<$value>());
                let mut operation = Operation::arrives(op, kind, place, orders, site);
                let reads_kept = kind == Kind::Update && operation.unchanged_update_is_load();
                let would = |met| {
                    let met = Value::of_word(met);
                    let copy = Self::new(met);
                    match act(&copy, true).1 {
                        false => Would::Fail,
                        true if reads_kept && copy.into_inner().is(met) => Would::Keep,
                        true => Would::Write,
                    }
                };
                let current = self.0.load(Ordering::Relaxed);
                let older = operation.choose(current.word(), &would).map(Value::of_word);
                let met = older.unwrap_or(current);
                let copy = Self::new(met);
                let atomic = if older.is_some() { &copy } else { self };
                let (result, has_written) = act(atomic, false);
                let after = atomic.0.load(Ordering::Relaxed);
                let is_kept = kind == Kind::Update && has_written && after.is(met);
                let written = (has_written && !(is_kept && reads_kept)).then_some(after);
                operation.done(written.map(Value::word), is_kept);
                saw(|| ((kind != Kind::Store).then_some(met), has_written.then_some(after)));
                if !has_written {
                    met.was_read();
                }
                result
            }

            pub(crate) fn exchange_weak(
                &self,
                op: Op,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
                site: Site,
            ) -> Result<$value, $value> {
                if !execution::active() {
                    execution::before_change();
                    return self.0.compare_exchange_weak(current, new, success, failure);
                }
                current.is_compared();
                if race::keeps_stores() {
                    return self.exchange_weakly(op, current, new, (success, failure), site, true);
                }
                execution::before(op, self.object(), site);
                self.report_value_before();
                // This calls the strong exchange, because only the search may choose a spurious
                // failure, not the machine.
                let would_succeed = self.0.load(Ordering::Relaxed) == current;
                let result = if would_succeed && execution::fails_spuriously() {
                    Err(current)
                } else {
                    self.0.compare_exchange(current, new, success, failure)
                };
                self.report_value_after();
                self.report_exchange(op, result, success, failure, site);
                let effect = exchange_effect(result, current, new, success);
                execution::effect(op, self.object(), effect, site);
                saw(|| exchanged(result, new));
                if let Err(value) = result {
                    value.was_read();
                }
                result
            }
        }

        impl $(<$T>)? fmt::Debug for $Atomic $(<$T>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }

        impl $(<$T>)? From<$value> for $Atomic $(<$T>)? {
            #[inline]
            fn from(v: $value) -> Self {
                Self::new(v)
            }
        }
    };
}

/// Adds methods that change the value in one step and return the previous one.
macro_rules! read_modify_write {
    (
        $Atomic:ident $(<$T:ident>)?, $operand:ty => $value:ty,
        $($method:ident = $op:ident,)*
    ) => {
        impl $(<$T>)? $Atomic $(<$T>)? {
            $(
                #[track_caller]
                pub fn $method(&self, val: $operand, order: Ordering) -> $value {
                    self.update_at(Op::$op, order, Location::caller(), |atomic| {
                        atomic.$method(val, order)
                    })
                }
            )*
        }
    };
}

use std::sync::atomic::Ordering;

use crate::execution::{self, Effect};
use crate::memory::Word;
use crate::platform::observers::observes_pointers;

/// The value of an atomic. The values of pointers need special treatment.
pub(super) trait Value: Copy {
    /// Records that the calling task has read this value, and may compare it with a value that the
    /// task reads later. Only pointers need this.
    #[inline]
    fn was_read(self) {}

    /// Whether both values are certainly equal. Pointers are certainly equal only if both are
    /// null: pointers to different allocations may have the same address, because the allocator
    /// reuses memory.
    fn is(self, other: Self) -> bool;

    /// The value as a word.
    fn word(self) -> Word;

    /// The value whose word is `word`.
    fn of_word(word: Word) -> Self;

    /// Marks that the program contains code that compares such a value with the value of an
    /// atomic. Only pointers need this. Must be inlined into the caller's code: see
    /// [`observes_pointers`].
    #[inline]
    fn is_compared(self) {}
}

impl<T> Value for *mut T {
    #[inline]
    fn was_read(self) {
        if execution::active() {
            execution::read_pointer(self.addr());
        }
    }

    #[inline]
    fn is(self, other: Self) -> bool {
        self.is_null() && other.is_null()
    }

    fn word(self) -> Word {
        Word::of_pointer(self)
    }

    fn of_word(word: Word) -> Self {
        word.pointer()
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it makes no instructions")]
    fn is_compared(self) {
        observes_pointers();
    }
}

macro_rules! plain_values {
    ($($value:ident)*) => {
        $(
            impl Value for $value {
                #[inline]
                fn is(self, other: Self) -> bool {
                    self == other
                }

                #[allow(
                    clippy::cast_lossless,
                    reason = "some of the types have no lossless conversion"
                )]
                fn word(self) -> Word {
                    Word::of_bits(self as u64)
                }

                fn of_word(word: Word) -> Self {
                    plain_values!(@of word.bits(), $value)
                }
            }
        )*
    };
    (@of $bits:expr, bool) => { $bits != 0 };
    (@of $bits:expr, $value:ident) => { $bits as $value };
}

plain_values!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// The effect of a compare-exchange that had this `result`, and would replace `current` by `new`.
pub(super) fn exchange_effect<T: Value>(
    result: Result<T, T>,
    current: T,
    new: T,
    success: Ordering,
) -> Effect {
    match result {
        Ok(_) => change(success, new.is(current)),
        Err(_) => Effect::Read,
    }
}

/// The effect of an operation that reads and writes a value. `is_kept` states that the operation
/// leaves the value unchanged. Such an operation is only a read if its ordering does not release
/// (`Relaxed`, `Acquire`) and the task has not executed a fence, because then no other task can
/// synchronize through the store.
#[inline]
pub(super) fn change(order: Ordering, is_kept: bool) -> Effect {
    match order {
        _ if !is_kept => Effect::Write,
        Ordering::Relaxed | Ordering::Acquire if !execution::has_fenced() => Effect::Read,
        _ => Effect::Rewrite,
    }
}

/// Returns the value that a compare-exchange has read, and the value that it has written. The
/// second value is `None` if the compare-exchange failed. `new` is the value to write.
pub(super) fn exchanged<T>(result: Result<T, T>, new: T) -> (Option<T>, Option<T>) {
    match result {
        Ok(previous) => (Some(previous), Some(new)),
        Err(found) => (Some(found), None),
    }
}

pub(super) use {atomic, read_modify_write};
