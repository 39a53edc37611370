//! The objects that one call uses, and its effects on them.

use crate::execution::{Effect, Named, named};

/// The highest number of objects that are recorded for one call.
const MOST: usize = 64;

/// The name of the object that stands for all files. Each call on files reads this object. A call
/// that writes it conflicts with all other calls on files.
const EVERYTHING: u64 = 0;

/// The objects that a call uses. One of them is the object of the call's event: the call is about
/// this object.
pub(super) struct Touches {
    all: [(usize, Effect); MOST],
    count: usize,
    /// The index of the object that the call is about.
    main: usize,
}

impl Touches {
    pub(super) fn new() -> Self {
        let everything = named(Named::Place, EVERYTHING);
        Self {
            all: [(everything, Effect::Read); MOST],
            count: 1,
            main: 0,
        }
    }

    /// Adds a use of `object`.
    pub(super) fn add(&mut self, object: usize, effect: Effect) {
        let known = self.all[..self.count].iter_mut();
        if let Some(known) = known.into_iter().find(|known| known.0 == object) {
            if known.1 != effect {
                known.1 = Effect::Write;
            }
        } else if self.count == MOST {
            self.use_everything();
        } else {
            self.all[self.count] = (object, effect);
            self.count += 1;
        }
    }

    /// Adds a use of `object`, and makes it the object of the call's event.
    pub(super) fn is_about(&mut self, object: usize, effect: Effect) {
        self.add(object, effect);
        let place = self.all[..self.count].iter().position(|it| it.0 == object);
        self.main = place.unwrap_or(0);
    }

    pub(super) fn reads(&mut self, kind: Named, name: u64) {
        self.add(named(kind, name), Effect::Read);
    }

    /// Records that the objects of the call cannot be determined. So the call conflicts with all
    /// other calls on files.
    pub(super) fn use_everything(&mut self) {
        self.all[0].1 = Effect::Write;
    }

    /// Returns the object of the call's event.
    pub(super) fn main(&self) -> usize {
        self.all[self.main].0
    }

    /// Returns all objects. The first one is the object of the call's event.
    pub(super) fn all(&mut self) -> &[(usize, Effect)] {
        self.all.swap(0, self.main);
        self.main = 0;
        &self.all[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_used_twice_counts_once() {
        let (file, other) = (named(Named::Entry, 16), named(Named::Entry, 32));
        let mut touches = Touches::new();
        touches.add(other, Effect::Update);
        touches.is_about(file, Effect::Read);
        touches.add(file, Effect::Write);
        touches.add(other, Effect::Update);
        assert_eq!(touches.main(), file);
        let all = touches.all();
        assert_eq!(all[0], (file, Effect::Write));
        assert_eq!(all.len(), 3);
        assert!(all.contains(&(other, Effect::Update)));
    }

    #[test]
    fn a_call_that_uses_too_many_objects_uses_everything() {
        let mut touches = Touches::new();
        for name in 0..MOST as u64 {
            touches.reads(Named::Entry, name << 8 | 16);
        }
        assert_eq!(touches.all()[0].1, Effect::Write);
    }
}
