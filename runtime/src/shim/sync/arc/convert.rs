//! Conversions into an `Arc`.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use super::Arc;

impl<T> From<T> for Arc<T> {
    fn from(t: T) -> Self {
        Arc::new(t)
    }
}

/// Conversions that are forwarded to the real `Arc`.
macro_rules! convert {
    ($([$($generics:tt)*] $From:ty => $To:ty;)*) => {
        $(
            impl<$($generics)*> From<$From> for Arc<$To> {
                #[inline]
                fn from(v: $From) -> Self {
                    Arc(std::sync::Arc::from(v))
                }
            }
        )*
    };
}

convert! {
    [T: Clone] &[T] => [T];
    [T: Clone] &mut [T] => [T];
    [T, const N: usize] [T; N] => [T];
    [T] Vec<T> => [T];
    [T: ?Sized] Box<T> => T;
    [] &str => str;
    [] &mut str => str;
    [] String => str;
    [] &CStr => CStr;
    [] &mut CStr => CStr;
    [] CString => CStr;
    [] &OsStr => OsStr;
    [] &mut OsStr => OsStr;
    [] OsString => OsStr;
    [] &Path => Path;
    [] &mut Path => Path;
    [] PathBuf => Path;
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(s: Arc<str>) -> Self {
        Arc(s.into_real().into())
    }
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ToOwned + ?Sized,
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[inline]
    fn from(cow: Cow<'a, B>) -> Arc<B> {
        match cow {
            Cow::Borrowed(s) => Arc::from(s),
            Cow::Owned(s) => Arc::from(s),
        }
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(boxed_slice: Arc<[T]>) -> Result<Self, Self::Error> {
        boxed_slice.into_real().try_into().map(Arc).map_err(Arc)
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Arc(iter.into_iter().collect())
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Arc<T> {
        Arc(std::sync::Arc::default())
    }
}

impl<T> Default for Arc<[T]> {
    fn default() -> Arc<[T]> {
        Arc(std::sync::Arc::default())
    }
}

impl Default for Arc<str> {
    fn default() -> Arc<str> {
        Arc(std::sync::Arc::default())
    }
}

impl Default for Arc<CStr> {
    fn default() -> Arc<CStr> {
        Arc(std::sync::Arc::default())
    }
}

impl<T: ?Sized> Default for Pin<Arc<T>>
where
    Arc<T>: Default,
{
    fn default() -> Pin<Arc<T>> {
        // SAFETY: as in `Arc::pin`.
        unsafe { Pin::new_unchecked(Arc::default()) }
    }
}
