//! `std::any`: type names are those of std, even if the type has shims among its parts.
//!
//! Names are computed at compile time, so that they need no allocation.

use std::marker::PhantomData;

pub use std::any::*;

/// See [`std::any::type_name`].
#[must_use]
pub fn type_name<T: ?Sized>() -> &'static str {
    const {
        let name = std::any::type_name::<T>();
        if find_ours(name.as_bytes(), 0).is_none() {
            name
        } else {
            let text: &'static Text = &Renamed::<T>::TEXT;
            text.get()
        }
    }
}

/// See [`std::any::type_name_of_val`].
#[must_use]
pub fn type_name_of_val<T: ?Sized>(_val: &T) -> &'static str {
    type_name::<T>()
}

struct Renamed<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized> Renamed<T> {
    const TEXT: Text = Text::renamed(std::any::type_name::<T>());
}

/// A text that is computed at compile time, in a buffer of fixed size.
struct Text {
    bytes: [u8; Self::ROOM],
    length: usize,
    /// The original name if the new name is longer than the buffer; otherwise `None`.
    too_long: Option<&'static str>,
}

impl Text {
    /// The size of the buffer of a new name in bytes. Few types have longer names. The program has
    /// one buffer for each renamed type.
    const ROOM: usize = 1024;

    const fn get(&self) -> &str {
        if let Some(name) = self.too_long {
            return name;
        }
        match str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => panic!("paths were put in the place of paths"),
        }
    }

    /// Computes `name` with std's paths in place of the paths of shims.
    const fn renamed(name: &'static str) -> Text {
        let mut text = Text {
            bytes: [0; Self::ROOM],
            length: 0,
            too_long: None,
        };
        let from = name.as_bytes();
        let mut at = 0;
        while let Some((start, end, real)) = find_ours(from, at) {
            text.push(from, at, start);
            text.push(real, 0, real.len());
            at = end;
        }
        text.push(from, at, from.len());
        if text.length > Self::ROOM {
            text.too_long = Some(name);
        }
        text
    }

    const fn push(&mut self, from: &[u8], start: usize, end: usize) {
        let mut at = start;
        while at < end {
            if self.length < Self::ROOM {
                self.bytes[self.length] = from[at];
            }
            self.length += 1;
            at += 1;
        }
    }
}

/// Finds the next path of a shim in `name`, at or after `from`. Returns the start and the end of
/// this path, and the path of the type of std that the shim stands for.
const fn find_ours(name: &[u8], from: usize) -> Option<(usize, usize, &'static [u8])> {
    let mut start = from;
    while start < name.len() {
        if has_at(name, start, ROOT) && (start == 0 || !is_of_a_path(name[start - 1])) {
            let mut end = start;
            while end < name.len() && is_of_a_path(name[end]) {
                end += 1;
            }
            let mut pair = 0;
            while pair < PATHS.len() {
                let (ours, real) = PATHS[pair];
                if ours.len() == end - start && has_at(name, start, ours) {
                    return Some((start, end, real));
                }
                pair += 1;
            }
        }
        start += 1;
    }
    None
}

const fn is_of_a_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':'
}

const fn has_at(text: &[u8], at: usize, part: &[u8]) -> bool {
    if text.len() - at < part.len() {
        return false;
    }
    let mut offset = 0;
    while offset < part.len() {
        if text[at + offset] != part[offset] {
            return false;
        }
        offset += 1;
    }
    true
}

/// The common prefix of the paths of all shims.
const ROOT: &[u8] = b"chess_runtime::shim::";

/// Returns the path of a shim, and the path of the type of std that the shim stands for. `ours`
/// and `real` are the names of the two types. They may have generic parameters, which the paths do
/// not have.
const fn pair(ours: &'static str, real: &'static str) -> (&'static [u8], &'static [u8]) {
    let (ours, real) = (ours.as_bytes(), real.as_bytes());
    let path = before_parameters(ours);
    if path.len() == ours.len() {
        (ours, real)
    } else {
        (path, before_parameters(real))
    }
}

const fn before_parameters(name: &[u8]) -> &[u8] {
    let mut end = 0;
    while end < name.len() && name[end] != b'<' {
        end += 1;
    }
    name.split_at(end).0
}

macro_rules! paths {
    (@pair ($($module:ident)::+) $Type:ident $($parameters:tt)*) => {
        pair(
            std::any::type_name::<super::$($module::)+$Type $($parameters)*>(),
            std::any::type_name::<std::$($module::)+$Type $($parameters)*>(),
        )
    };
    ($($module:tt: $($Type:ident $(<$($parameter:tt),+>)?)+;)+) => {
        /// The paths of the shims, and of the types that they stand for.
        const PATHS: &[(&[u8], &[u8])] = &[
            $($(paths!(@pair $module $Type $(<$($parameter),+>)?),)+)+
        ];
    };
}

paths! {
    (sync): Arc<u8> Weak<u8> Mutex<u8> MutexGuard<'static, u8>
        RwLock<u8> RwLockReadGuard<'static, u8> RwLockWriteGuard<'static, u8>
        OnceLock<u8> LazyLock<u8> Once OnceState
        Barrier BarrierWaitResult Condvar WaitTimeoutResult;
    (sync::atomic): AtomicBool AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize
        AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize AtomicPtr<u8>;
    (sync::mpsc): Sender<u8> SyncSender<u8> Receiver<u8>
        IntoIter<u8> Iter<'static, u8> TryIter<'static, u8>;
    (thread): Builder JoinHandle<u8> Scope<'static, 'static> ScopedJoinHandle<'static, u8>
        Thread ThreadId;
    (cell): UnsafeCell<u8>;
}

#[cfg(test)]
mod tests {
    use super::{Text, type_name, type_name_of_val};
    use crate::shim::cell::UnsafeCell;
    use crate::shim::sync::{Arc, Mutex, MutexGuard, Weak, atomic::AtomicU8};

    #[test]
    fn stand_ins_within_other_types_have_the_names_of_std() {
        type Ours = fn(&Vec<Arc<Mutex<u8>>>) -> Option<MutexGuard<'static, (AtomicU8, Weak<str>)>>;
        type Real = fn(
            &Vec<std::sync::Arc<std::sync::Mutex<u8>>>,
        ) -> Option<
            std::sync::MutexGuard<'static, (std::sync::atomic::AtomicU8, std::sync::Weak<str>)>,
        >;
        assert_eq!(type_name::<Ours>(), std::any::type_name::<Real>());
        assert_eq!(
            type_name_of_val(&UnsafeCell::new(())),
            std::any::type_name::<std::cell::UnsafeCell<()>>()
        );
    }

    #[test]
    fn other_names_are_left_alone() {
        assert_eq!(
            type_name::<Option<std::str::Chars<'_>>>(),
            std::any::type_name::<Option<std::str::Chars<'_>>>()
        );
        // The path of `Parker` has the prefix of the shims, but `Parker` stands for no type of
        // std.
        let own = type_name::<crate::shim::parking::Parker>();
        assert_eq!(own, "chess_runtime::shim::parking::Parker");
    }

    #[test]
    fn a_name_without_room_stays_ours() {
        type Twice<T> = (T, T);
        type Long = Twice<Twice<Twice<Twice<Twice<Twice<Mutex<u8>>>>>>>;
        let name = type_name::<Long>();
        assert_eq!(name, std::any::type_name::<Long>());
        assert!(name.len() > Text::ROOM);
    }
}
