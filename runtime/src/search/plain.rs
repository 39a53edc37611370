//! What is written down as it lies in memory: many of them in one go.

use crate::platform::memory::{EngineMemory, EngineVec};

/// What is nothing but bytes.
///
/// # Safety
/// All its bytes have values, and any values of them are one of it.
pub(super) unsafe trait Plain: Copy {}

macro_rules! numbers_are_plain {
    ($($number:ty),*) => {
        // SAFETY: numbers are nothing but bytes.
        $(unsafe impl Plain for $number {})*
        $(plain_is_stored!($number);)*
    };
}

/// Lets what is plain be written down.
macro_rules! plain_is_stored {
    ($plain:ty) => {
        impl $crate::search::stored::Stored for $plain {
            #[inline]
            fn write(&self, out: &mut $crate::platform::memory::EngineVec<u8>) {
                $crate::search::plain::write(core::slice::from_ref(self), out);
            }

            #[inline]
            fn read(input: &mut &[u8]) -> Option<Self> {
                $crate::search::plain::read(input)
            }

            fn write_all(items: &[Self], out: &mut $crate::platform::memory::EngineVec<u8>) {
                $crate::search::plain::write(items, out);
            }

            fn read_all(
                count: usize,
                input: &mut &[u8],
            ) -> Option<$crate::platform::memory::EngineVec<Self>> {
                $crate::search::plain::read_all(count, input)
            }
        }
    };
}

pub(super) use plain_is_stored;

numbers_are_plain!(u8, u32, u64, usize, f32, f64);

/// Appends their bytes.
#[inline]
pub(super) fn write<T: Plain>(items: &[T], out: &mut EngineVec<u8>) {
    // SAFETY: they are so long, and all their bytes have values.
    let bytes = unsafe { core::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) };
    out.extend_from_slice(bytes);
}

/// Takes one from the beginning of `input`.
#[inline]
pub(super) fn read<T: Plain>(input: &mut &[u8]) -> Option<T> {
    let (bytes, rest) = input.split_at_checked(size_of::<T>())?;
    *input = rest;
    // SAFETY: there are so many bytes, and any are one.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Takes so many.
pub(super) fn read_all<T: Plain>(count: usize, input: &mut &[u8]) -> Option<EngineVec<T>> {
    let length = count.checked_mul(size_of::<T>())?;
    let (bytes, rest) = input.split_at_checked(length)?;
    *input = rest;
    let mut items = Vec::<T, _>::with_capacity_in(count, EngineMemory);
    // SAFETY: there is room for so many, and any bytes are some of them.
    unsafe {
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), items.as_mut_ptr().cast::<u8>(), length);
        items.set_len(count);
    }
    Some(items)
}
