//! Writing down what a search knows, and reading it back in a run that goes on.
//!
//! The same binary reads what it has written, and the supervisor keeps a digest: there
//! is neither a version nor a check. What is too short is refused.

use super::{HashSet, Progress, Rng};
use crate::execution::{Effect, TaskId};
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};

/// What can be written down as bytes.
pub(crate) trait Stored: Sized {
    /// Appends it.
    fn write(&self, out: &mut EngineVec<u8>);

    /// Takes it from the beginning of `input`.
    fn read(input: &mut &[u8]) -> Option<Self>;

    /// Appends many of them, but not how many.
    fn write_all(items: &[Self], out: &mut EngineVec<u8>) {
        for item in items {
            item.write(out);
        }
    }

    /// Takes so many.
    fn read_all(count: usize, input: &mut &[u8]) -> Option<EngineVec<Self>> {
        // A number that cannot be true asks for no memory.
        let mut items = Vec::with_capacity_in(count.min(input.len()), EngineMemory);
        for _ in 0..count {
            items.push(Self::read(input)?);
        }
        Some(items)
    }
}

/// Lets a structure be written down field by field.
macro_rules! stored {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::search::stored::Stored for $name {
            fn write(&self, out: &mut $crate::platform::memory::EngineVec<u8>) {
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

/// For a strategy: the fields that it goes on from after an execution. All others are
/// as in a new one, but for what its own functions write and read then.
macro_rules! kept_between_executions {
    ($($field:ident),* $(,)? $(; $save_rest:ident, $load_rest:ident)?) => {
        fn save(&self, out: &mut $crate::platform::memory::EngineVec<u8>) -> bool {
            $($crate::search::stored::Stored::write(&self.$field, out);)*
            $(self.$save_rest(out);)?
            true
        }

        fn load(&mut self, input: &mut &[u8]) -> bool {
            $(let Some($field) = $crate::search::stored::Stored::read(input) else {
                return false;
            };)*
            $(self.$field = $field;)*
            true $(&& self.$load_rest(input))?
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
    fn write(&self, out: &mut EngineVec<u8>) {
        u8::from(*self).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(u8::read(input)? != 0)
    }
}

impl Stored for TaskId {
    fn write(&self, out: &mut EngineVec<u8>) {
        self.0.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u32::read(input).map(Self)
    }
}

impl Stored for Effect {
    fn write(&self, out: &mut EngineVec<u8>) {
        (*self as u8).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let number = u8::read(input)?;
        Effect::ALL.get(usize::from(number)).copied()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, out: &mut EngineVec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some((A::read(input)?, B::read(input)?))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, out: &mut EngineVec<u8>) {
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
    fn write(&self, out: &mut EngineVec<u8>) {
        self.len().write(out);
        T::write_all(self, out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = usize::read(input)?;
        T::read_all(count, input)
    }
}

/// Read, it stays in the engine's memory until the process ends.
impl Stored for &'static str {
    fn write(&self, out: &mut EngineVec<u8>) {
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
    fn write(&self, out: &mut EngineVec<u8>) {
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
    fn write(&self, out: &mut EngineVec<u8>) {
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

    /// Runs at most so many schedules; what each did, and the strategy's progress then.
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
        let searches: [&dyn Fn() -> Box<dyn Strategy>; 9] = [
            &|| Box::new(Icb::new(3, u64::MAX)),
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
                let mut bytes = engine_vec();
                assert!(search.save(&mut bytes), "{}", search.name());
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
        let mut bytes = engine_vec();
        assert!(search.save(&mut bytes));
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
        let mut bytes = engine_vec();
        hashes.write(&mut bytes);
        "src/ring.rs".write(&mut bytes);
        let input = &mut &bytes[..];
        let mut again = HashSet::read(input).unwrap();
        assert_eq!(again.count(), 3000);
        assert!((0..3000).all(|hash| !again.insert(hash * 7)));
        assert_eq!(<&str>::read(input), Some("src/ring.rs"));
        assert!(input.is_empty());
    }
}
