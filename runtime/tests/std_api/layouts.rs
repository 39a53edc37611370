//! Comparison of the layouts of the shims with those of their `std` types: name, size, alignment,
//! niches for the variants of an enclosing enum, drop glue, and auto traits.
//!
//! Every shim at a path of std must be listed here: [`Docs::stand_ins`] returns all of them.

use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::{PhantomData, PhantomPinned};
use std::mem::needs_drop;
use std::num::NonZero;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use chess_runtime::shim::any;

use crate::rustdoc::Docs;

/// The differences that are necessary: a shim, one of its properties, and the reason.
const DIFFERENCES: &[(&str, &str, &str)] = &[(
    "thread::Scope",
    "drop",
    "it is lent to programs, never given: what it needs lies beside it, and is dropped there",
)];

/// A type's properties by name.
type Look = BTreeMap<&'static str, usize>;

/// Pairs of a shim and std's type: the path, the results of `type_name` for both, and the other
/// properties of both.
type Compared = Vec<(&'static str, [&'static str; 2], Look, Look)>;

/// Returns the properties that a generic function can compute.
fn layout<T>() -> Look {
    BTreeMap::from([
        ("size", size_of::<T>()),
        ("alignment", align_of::<T>()),
        ("size of an Option", size_of::<Option<T>>()),
        ("size of an Option<Option>", size_of::<Option<Option<T>>>()),
        (
            "size of four Options",
            size_of::<Option<Option<Option<Option<T>>>>>(),
        ),
        ("drop", usize::from(needs_drop::<T>())),
    ])
}

/// States that a type lacks a trait, unless an inherent constant of the same name overrides it.
trait HasNot {
    const HAS: bool = false;
}

impl<T: ?Sized> HasNot for T {}

macro_rules! traits {
    ($($Trait:ident)*) => {
        mod has {
            $(pub(super) struct $Trait<T>(super::PhantomData<T>);)*
        }

        $(
            impl<T: $Trait> has::$Trait<T> {
                const HAS: bool = true;
            }
        )*

        /// The properties of [`layout`], and the traits of the type. It is a macro because the
        /// traits are looked up for the concrete type.
        macro_rules! look {
            ($T:ty) => {{
                let mut look = layout::<$T>();
                $(look.insert(stringify!($Trait), usize::from(has::$Trait::<$T>::HAS));)*
                look
            }};
        }
    };
}

traits!(Send Sync Unpin UnwindSafe RefUnwindSafe Copy);

macro_rules! compare {
    (@one $to:ident ($($module:ident)::+) $Type:ident $($parameters:tt)*) => {
        $to.push((
            concat!($(stringify!($module), "::",)+ stringify!($Type)),
            [
                any::type_name::<chess_runtime::shim::$($module::)+$Type $($parameters)*>(),
                std::any::type_name::<std::$($module::)+$Type $($parameters)*>(),
            ],
            look!(chess_runtime::shim::$($module::)+$Type $($parameters)*),
            look!(std::$($module::)+$Type $($parameters)*),
        ));
    };
    ($to:ident $module:tt $($Type:ident $(<$($parameter:tt),+>)?),+ $(,)?) => {
        $(compare!(@one $to $module $Type $(<$($parameter),+>)?);)+
    };
}

fn of_no_other(to: &mut Compared) {
    compare!(to (sync) Barrier, BarrierWaitResult, Condvar, Once, OnceState, WaitTimeoutResult);
    compare!(to (sync::atomic) AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize,
        AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize);
    compare!(to (thread) Builder, Scope<'static, 'static>, Thread, ThreadId);
}

macro_rules! of_each {
    ($to:ident: $($T:ty),+ $(,)?) => {
        $({
            type T = $T;
            compare!($to (sync) Arc<T>, Weak<T>, Mutex<T>, MutexGuard<'static, T>,
                RwLock<T>, RwLockReadGuard<'static, T>, RwLockWriteGuard<'static, T>,
                OnceLock<T>, LazyLock<T>, LazyLock<T, T>, LazyLock<u8, T>);
            compare!($to (sync::atomic) AtomicPtr<T>);
            compare!($to (sync::mpsc) Sender<T>, SyncSender<T>, Receiver<T>,
                IntoIter<T>, Iter<'static, T>, TryIter<'static, T>);
            compare!($to (thread) JoinHandle<T>, ScopedJoinHandle<'static, T>);
            compare!($to (cell) UnsafeCell<T>);
        })+
    };
}

macro_rules! of_each_without_a_size {
    ($to:ident: $($T:ty),+ $(,)?) => {
        $({
            type T = $T;
            compare!($to (sync) Arc<T>, Weak<T>, MutexGuard<'static, T>,
                RwLockReadGuard<'static, T>, RwLockWriteGuard<'static, T>);
        })+
    };
}

#[repr(align(64))]
struct Wide(#[expect(dead_code, reason = "it takes room")] u8);

fn of_plain_values(to: &mut Compared) {
    of_each!(to: (), u8, u16, u64, u128, [u8; 3], Wide);
}

fn of_values_with_niches(to: &mut Compared) {
    of_each!(to: bool, NonZero<u32>, &'static str, Option<Box<u8>>, String);
}

fn of_values_that_lack_traits(to: &mut Compared) {
    of_each!(to: Rc<u8>, Cell<u8>, *const u8, PhantomPinned, &'static mut u8, &'static Cell<u8>);
    of_each!(to: Box<dyn Any>, std::sync::MutexGuard<'static, u8>, std::cell::UnsafeCell<u8>);
}

fn of_values_without_a_size(to: &mut Compared) {
    of_each_without_a_size!(to: [u8], [u64], str, dyn Any, dyn Send + Sync, [Cell<u8>]);
}

/// Fails if a shim differs from std's type without being listed, if a listed difference does not
/// exist, or if a shim is missing here.
pub(crate) fn compare(docs: &Docs) {
    let (cell, number) = (look!(Rc<Cell<u8>>), look!(u8));
    for absent in ["Send", "Sync", "UnwindSafe", "RefUnwindSafe", "Copy"] {
        assert_eq!((absent, cell[absent], number[absent]), (absent, 0, 1));
    }
    let mut compared = Vec::new();
    of_no_other(&mut compared);
    of_plain_values(&mut compared);
    of_values_with_niches(&mut compared);
    of_values_that_lack_traits(&mut compared);
    of_values_without_a_size(&mut compared);
    let names: BTreeSet<String> = compared.iter().map(|(name, ..)| (*name).into()).collect();
    assert_eq!(names, docs.stand_ins(), "left: compared, right: stand-ins");
    let mut faults = Vec::new();
    let mut listed: BTreeSet<_> = DIFFERENCES
        .iter()
        .map(|(name, property, _)| (*name, *property))
        .collect();
    let mut seen = BTreeSet::new();
    for (name, [our_name, real_name], ours, real) in &compared {
        if our_name != real_name {
            faults.push(format!("{real_name}: type_name is {our_name}"));
        }
        for (property, wanted) in real {
            if ours[property] == *wanted {
                continue;
            }
            seen.insert((*name, *property));
            if !listed.contains(&(*name, *property)) {
                let found = ours[property];
                faults.push(format!("{real_name}: {property} is {wanted}, ours {found}"));
            }
        }
    }
    listed.retain(|difference| !seen.contains(difference));
    assert!(
        faults.is_empty(),
        "stand-ins look otherwise than std's types:\n{}",
        faults.join("\n")
    );
    assert!(
        listed.is_empty(),
        "no longer different, so to be struck off the list: {listed:?}"
    );
}
