//! Checkpoint format: the state of a search as bytes, for a later run that continues it.
//!
//! The same binary reads what it has written, and the supervisor keeps a digest. So there is
//! neither a version nor a checksum. Input that is too short is rejected.

use super::written::Written;
use super::{HashSet, Progress, Rng};
use crate::execution::{Effect, TaskId};
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};

/// A type that can be stored as bytes.
pub(crate) trait Stored: Sized {
    /// Appends its bytes.
    fn write(&self, out: &mut Written);

    /// Takes it from the beginning of `input`.
    fn read(input: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers_are_stored {
    ($($number:ty),*) => {
        $(impl Stored for $number {
            #[inline]
            fn write(&self, out: &mut Written) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn read(input: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = input.split_first_chunk()?;
                *input = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        })*
    };
}

numbers_are_stored!(u8, u32, u64, usize, f32, f64);

/// Implements [`Stored`] for a structure, field by field.
macro_rules! stored {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::search::stored::Stored for $name {
            fn write(&self, out: &mut $crate::search::Written) {
                $($crate::search::stored::Stored::write(&self.$field, out);)*
            }

            fn read(input: &mut &[u8]) -> Option<Self> {
                Some(Self {
                    $($field: $crate::search::stored::Stored::read(input)?,)*
                })
            }
        }
    };
}

/// For a strategy: saves and loads the fields that it keeps between executions. All others are as
/// in a new strategy, except those that the optional functions write and read after these.
macro_rules! kept_between_executions {
    ($($field:ident),* $(,)? $(; $write_rest:ident, $read_rest:ident)?) => {
        fn save(&self, out: &mut $crate::search::Written) -> bool {
            $($crate::search::stored::Stored::write(&self.$field, out);)*
            $(self.$write_rest(out);)?
            true
        }

        fn load(&mut self, input: &mut &[u8]) -> bool {
            $(let Some($field) = $crate::search::stored::Stored::read(input) else {
                return false;
            };)*
            $(self.$field = $field;)*
            true $(&& self.$read_rest(input))?
        }
    };
}

pub(super) use kept_between_executions;
pub(crate) use stored;

stored!(Progress {
    bound,
    bound_completed,
    pruned,
    complete,
});

impl Stored for bool {
    fn write(&self, out: &mut Written) {
        u8::from(*self).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(u8::read(input)? != 0)
    }
}

impl Stored for TaskId {
    fn write(&self, out: &mut Written) {
        self.0.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u32::read(input).map(Self)
    }
}

impl Stored for Effect {
    fn write(&self, out: &mut Written) {
        (*self as u8).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let number = u8::read(input)?;
        Effect::ALL.get(usize::from(number)).copied()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, out: &mut Written) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some((A::read(input)?, B::read(input)?))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, out: &mut Written) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::read(input)? {
            Some(T::read(input)?)
        } else {
            None
        })
    }
}

impl<T: Stored> Stored for EngineVec<T> {
    fn write(&self, out: &mut Written) {
        self.len().write(out);
        for item in self {
            item.write(out);
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = usize::read(input)?;
        // A length that is too large allocates no more than the input has.
        let mut items = Vec::with_capacity_in(count.min(input.len()), EngineMemory);
        for _ in 0..count {
            items.push(T::read(input)?);
        }
        Some(items)
    }
}

/// When it is read, it stays in the engine's memory until the process ends.
impl Stored for &'static str {
    fn write(&self, out: &mut Written) {
        self.len().write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = usize::read(input)?;
        let (bytes, rest) = input.split_at_checked(count)?;
        *input = rest;
        let mut text = engine_vec();
        text.extend_from_slice(bytes);
        str::from_utf8(text.leak()).ok()
    }
}

impl Stored for HashSet {
    fn write(&self, out: &mut Written) {
        self.count().write(out);
        self.iter().for_each(|hash| hash.write(out));
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = u64::read(input)?;
        let mut hashes = Self::new();
        for _ in 0..count {
            hashes.insert(u64::read(input)?);
        }
        Some(hashes)
    }
}

impl Stored for Rng {
    fn write(&self, out: &mut Written) {
        self.state().write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u64::read(input).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{self, Act, Program};
    use super::super::{Delay, Dpor, Icb, Part, Pct, Portfolio, Pos, Random, Strategy, Surw};
    use super::*;

    /// Runs at most `most` schedules. Returns the graph of each, with the progress of the strategy
    /// after it.
    fn run(program: &Program, search: &mut dyn Strategy, most: usize) -> Vec<String> {
        let mut told = Vec::new();
        while told.len() < most && search.begin() {
            let outcome = model::execute(program, search);
            let progress = search.progress();
            told.push(format!("{:?} {progress:?}", outcome.graph));
        }
        told
    }

    fn portfolio() -> Portfolio {
        let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
        members.push(Box::new_in(Delay::new(1), EngineMemory));
        members.push(Box::new_in(Pct::new(3), EngineMemory));
        members.push(Box::new_in(Pos::new(4), EngineMemory));
        Portfolio::new(members)
    }

    #[test]
    fn a_search_that_was_written_down_goes_on_as_if_it_had_not_stopped() {
        const MOST: usize = 300;
        let program = vec![vec![Act::Add(0), Act::Add(1), Act::Add(0)]; 3];
        let part = Part { index: 1, count: 2 };
        let searches: [&dyn Fn() -> Box<dyn Strategy>; 10] = [
            &|| Box::new(Icb::new(3, u64::MAX)),
            // Some queued schedules are dropped, and have no node.
            &|| Box::new(Icb::new(3, 30)),
            &|| Box::new(Icb::new(3, u64::MAX).of_early_part(part)),
            &|| Box::new(Dpor::new()),
            &|| Box::new(Random::new(1)),
            &|| Box::new(Pct::new(2)),
            &|| Box::new(Pos::new(3)),
            &|| Box::new(Surw::new(4)),
            &|| Box::new(Delay::new(200)),
            &|| Box::new(portfolio()),
        ];
        for new in searches {
            let whole = run(&program, &mut *new(), MOST);
            for stop in [1, 2, 7, 50, 99, 100, 101, 150, 299] {
                let mut search = new();
                let first = run(&program, &mut *search, stop);
                let mut written = Written::new();
                assert!(search.save(&mut written), "{}", search.name());
                let bytes = written.to_bytes();
                let mut search = new();
                let mut input = &bytes[..];
                assert!(search.load(&mut input), "{}", search.name());
                assert!(input.is_empty());
                let rest = run(&program, &mut *search, MOST - stop);
                assert_eq!([first, rest].concat(), whole, "{}, {stop}", search.name());
            }
        }
    }

    #[test]
    fn what_was_cut_off_is_refused() {
        let program = vec![vec![Act::Add(0); 3]; 2];
        let mut search = Icb::new(2, u64::MAX);
        run(&program, &mut search, 5);
        let mut written = Written::new();
        assert!(search.save(&mut written));
        let bytes = written.to_bytes();
        for length in 0..bytes.len() {
            let mut search = Icb::new(2, u64::MAX);
            assert!(!search.load(&mut &bytes[..length]), "{length} bytes");
        }
    }

    #[test]
    fn text_and_sets_are_read_as_they_were_written() {
        let mut hashes = HashSet::new();
        for hash in 0..3000 {
            hashes.insert(hash * 7);
        }
        let mut written = Written::new();
        hashes.write(&mut written);
        "src/ring.rs".write(&mut written);
        let bytes = written.to_bytes();
        let input = &mut &bytes[..];
        let mut again = HashSet::read(input).unwrap();
        assert_eq!(again.count(), 3000);
        assert!((0..3000).all(|hash| !again.insert(hash * 7)));
        assert_eq!(<&str>::read(input), Some("src/ring.rs"));
        assert!(input.is_empty());
    }
}
