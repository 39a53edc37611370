//! The iterators over a receiver's messages.

use super::Receiver;

/// See [`std::sync::mpsc::Iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    pub(super) rx: &'a Receiver<T>,
}

/// See [`std::sync::mpsc::TryIter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    pub(super) rx: &'a Receiver<T>,
}

/// See [`std::sync::mpsc::IntoIter`].
#[derive(Debug)]
pub struct IntoIter<T> {
    pub(super) rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}
