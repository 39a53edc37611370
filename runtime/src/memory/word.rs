//! The values of atomics: one type for the atomics of all types.

/// The value of an atomic of at most eight bytes. The value of a pointer keeps its provenance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(*mut ());

impl Word {
    pub(crate) const NULL: Self = Self(core::ptr::null_mut());

    /// The value with these bits.
    #[inline]
    pub(crate) fn of_bits(bits: u64) -> Self {
        Self(core::ptr::without_provenance_mut(bits as usize))
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0.addr() as u64
    }

    #[inline]
    pub(crate) fn of_pointer<T>(pointer: *mut T) -> Self {
        Self(pointer.cast())
    }

    #[inline]
    pub(crate) fn pointer<T>(self) -> *mut T {
        self.0.cast()
    }
}
