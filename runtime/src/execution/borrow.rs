//! A check in builds for tests: the execution is never borrowed twice at the same time.
//!
//! A second borrow could come from code that a closure of [`Running`](super::Running) calls
//! implicitly: an interposed function, such as the allocator of the program, or a monitor. A cargo
//! chess that was built with debug assertions compiles the runtime with `chess_checks_borrows`, so
//! that all end-to-end tests have the check. Other builds do not contain the check.

#[cfg(any(test, chess_checks_borrows))]
pub(super) use checked::Borrow;
#[cfg(not(any(test, chess_checks_borrows)))]
pub(super) use unchecked::Borrow;

#[cfg(any(test, chess_checks_borrows))]
mod checked {
    use core::cell::Cell;

    use crate::base::sys::{self, number};

    /// Whether the running task borrows the execution. No task is switched out while it borrows
    /// the execution.
    #[thread_local]
    static IS_BORROWED: Cell<bool> = Cell::new(false);

    /// The execution is borrowed while this value lives.
    pub(in super::super) struct Borrow(());

    impl Borrow {
        /// Begins a borrow. Aborts the process if the execution is already borrowed.
        #[inline]
        pub(in super::super) fn begin() -> Self {
            if IS_BORROWED.replace(true) {
                refuse();
            }
            Self(())
        }

        /// Whether the calling thread borrows the execution.
        #[cfg(test)]
        pub(super) fn is_held() -> bool {
            IS_BORROWED.get()
        }
    }

    impl Drop for Borrow {
        fn drop(&mut self) {
            IS_BORROWED.set(false);
        }
    }

    /// Aborts the process. A panic would need the allocator for its message, and the allocator may
    /// be the code that borrows a second time.
    #[cold]
    #[inline(never)]
    fn refuse() -> ! {
        let message = "cargo chess: the execution is borrowed twice\n";
        let arguments = [2, message.as_ptr() as usize, message.len(), 0, 0, 0];
        // SAFETY: the message is readable.
        unsafe { sys::syscall(number::WRITE, arguments) };
        std::process::abort()
    }
}

#[cfg(not(any(test, chess_checks_borrows)))]
mod unchecked {
    /// Nothing is checked.
    pub(in super::super) struct Borrow;

    impl Borrow {
        #[inline(always)]
        #[expect(clippy::inline_always, reason = "it does nothing")]
        pub(in super::super) fn begin() -> Self {
            Self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Borrow;

    #[test]
    fn a_borrow_ends_with_its_closure_also_by_a_panic() {
        let unwound = std::panic::catch_unwind(|| {
            let _borrow = Borrow::begin();
            assert!(Borrow::is_held());
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(unwound.is_err() && !Borrow::is_held());
        drop(Borrow::begin());
        drop(Borrow::begin());
        assert!(!Borrow::is_held());
    }
}
