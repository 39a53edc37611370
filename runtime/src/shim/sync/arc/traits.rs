//! The traits of `Arc`: a pointer that behaves like its value, and that can be unsized.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::marker::Unsize;
use std::ops::{CoerceUnsized, Deref, DerefPure, DispatchFromDyn, LegacyReceiver};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::PinCoerceUnsized;

use super::{Arc, Weak};

impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Arc<U>> for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Arc<U>> for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Weak<U>> for Weak<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Weak<U>> for Weak<T> {}
impl<T: ?Sized> LegacyReceiver for Arc<T> {}
// SAFETY: as for the real one, to which `Deref` forwards.
unsafe impl<T: ?Sized> PinCoerceUnsized for Arc<T> {}
// SAFETY: as for the real one, to which `Deref` forwards.
unsafe impl<T: ?Sized> DerefPure for Arc<T> {}

impl<T: ?Sized> Unpin for Arc<T> {}
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for Arc<T> {}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

// The real `Arc`s are compared. They compare their pointers first if the value is `Eq`.
impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    #[inline]
    fn eq(&self, other: &Arc<T>) -> bool {
        self.0 == other.0
    }

    #[inline]
    #[expect(
        clippy::partialeq_ne_impl,
        reason = "the value may have a `ne` of its own"
    )]
    fn ne(&self, other: &Arc<T>) -> bool {
        self.0 != other.0
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Arc<T>) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }

    fn lt(&self, other: &Arc<T>) -> bool {
        self.0 < other.0
    }

    fn le(&self, other: &Arc<T>) -> bool {
        self.0 <= other.0
    }

    fn gt(&self, other: &Arc<T>) -> bool {
        self.0 > other.0
    }

    fn ge(&self, other: &Arc<T>) -> bool {
        self.0 >= other.0
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Arc<T>) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, f)
    }
}

impl<T: Error + ?Sized> Error for Arc<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }

    #[allow(deprecated, reason = "std still has it")]
    fn cause(&self) -> Option<&dyn Error> {
        (**self).cause()
    }
}

impl Read for Arc<File> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&**self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&**self).read_vectored(bufs)
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        (&**self).read_to_end(buf)
    }

    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        (&**self).read_to_string(buf)
    }
}

impl Write for Arc<File> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&**self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&**self).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&**self).flush()
    }
}

impl Seek for Arc<File> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&**self).seek(pos)
    }
}

#[cfg(unix)]
impl<T: std::os::fd::AsFd + ?Sized> std::os::fd::AsFd for Arc<T> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        (**self).as_fd()
    }
}

#[cfg(unix)]
impl<T: std::os::fd::AsRawFd> std::os::fd::AsRawFd for Arc<T> {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        (**self).as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::Arc;

    /// A value each of whose comparisons has a result of its own.
    struct Odd;

    impl PartialEq for Odd {
        fn eq(&self, _: &Odd) -> bool {
            true
        }

        #[expect(clippy::partialeq_ne_impl, reason = "the test needs it")]
        fn ne(&self, _: &Odd) -> bool {
            true
        }
    }

    impl PartialOrd for Odd {
        fn partial_cmp(&self, _: &Odd) -> Option<Ordering> {
            None
        }

        fn lt(&self, _: &Odd) -> bool {
            true
        }

        fn le(&self, _: &Odd) -> bool {
            true
        }

        fn gt(&self, _: &Odd) -> bool {
            true
        }

        fn ge(&self, _: &Odd) -> bool {
            true
        }
    }

    #[test]
    fn each_comparison_is_that_of_the_value() {
        let (one, other) = (Arc::new(Odd), Arc::new(Odd));
        assert!(one == other && one != other);
        assert!(one < other && one <= other && one > other && one >= other);
        assert_eq!(one.partial_cmp(&other), None);
    }
}
