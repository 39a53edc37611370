//! Random inputs for parsers.
//!
//! Inputs are mutations of samples. The fuzzer runs on the stable toolchain and does not measure
//! coverage. Instead it compares the outcomes of checks: an input with a new outcome, such as an
//! error message that no other input had, becomes a sample too.
//!
//! `CHESS_FUZZ_SECONDS` is the time for each target. Without it, a target gets a fixed number of
//! inputs, which are the same in each run. `CHESS_FUZZ_SEED` selects other inputs.

#![forbid(unsafe_code)]

mod mutate;

use std::collections::HashSet;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// The number of inputs for each target, if there is no time limit.
const INPUTS: u32 = 500;

/// The number of samples above which inputs with new outcomes are no longer added.
const MOST_SAMPLES: usize = 4_000;

/// The size of the stack on which the parsers run: that of a program's first thread. The thread of
/// a test has a smaller stack.
const STACK: usize = 8 << 20;

/// A parser under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name in messages.
    pub name: &'static str,
    /// Words with a meaning in the parsed language.
    pub words: &'static [&'static str],
    /// Parses an input, checks properties of the result, and describes the outcome.
    pub check: fn(&str) -> String,
}

impl Target {
    /// Checks the samples, and then mutations of them.
    ///
    /// # Panics
    /// If a check panics. The message has the smallest input that was found for it.
    pub fn run(self, samples: Vec<String>) {
        let run = thread::Builder::new().stack_size(STACK);
        let run = run.spawn(move || self.run_here(samples));
        let found = run.expect("a thread").join().expect("the fuzzer works");
        if let Some(input) = found {
            panic!("{} panics for the input {input:?}", self.name);
        }
    }

    /// Checks the samples and their mutations. Returns a small input for which the check panics,
    /// or `None` if no check panics.
    fn run_here(self, mut samples: Vec<String>) -> Option<String> {
        let seed = env::var("CHESS_FUZZ_SEED").ok();
        let seed = seed.map_or(1, |seed| seed.parse().expect("a number"));
        let seconds = env::var("CHESS_FUZZ_SECONDS").ok();
        let seconds = seconds.map(|it| it.parse().expect("a number of seconds"));
        let start = Instant::now();
        let may_continue = |inputs: u32| match seconds {
            Some(seconds) => start.elapsed() < Duration::from_secs(seconds),
            None => inputs < INPUTS,
        };
        let mut outcomes = HashSet::new();
        for sample in &samples {
            match self.outcome(sample) {
                Some(outcome) => _ = outcomes.insert(outcome),
                None => return Some(sample.clone()),
            }
        }
        let mut random = Rng::with_seed(seed);
        let mut inputs = 0;
        while may_continue(inputs) {
            inputs += 1;
            let input = mutate::mutated(&samples, self.words, &mut random);
            let Some(outcome) = self.outcome(&input) else {
                return Some(self.smaller(&input));
            };
            if samples.len() < MOST_SAMPLES && outcomes.insert(outcome) {
                samples.push(input);
            }
        }
        println!(
            "{}: {inputs} inputs, {} outcomes",
            self.name,
            outcomes.len()
        );
        None
    }

    /// Returns the outcome without numbers, or `None` if the check panics.
    fn outcome(self, input: &str) -> Option<String> {
        // The file keeps the input if a stack overflow ends the process.
        let file = env::current_exe().expect("this executable has a path");
        let file = file.with_file_name(format!("fuzz-{}.txt", self.name));
        fs::write(file, input).expect("the target directory can be written");
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.check)(input))).ok()?;
        Some(outcome.replace(|c: char| c.is_ascii_digit(), "0"))
    }

    /// Removes each part of an input without which the check still panics.
    fn smaller(self, input: &str) -> String {
        let mut input: Vec<char> = input.chars().collect();
        let mut length = input.len() / 2;
        while length > 0 {
            let mut at = 0;
            while at < input.len() {
                let end = input.len().min(at + length);
                let without: Vec<char> = [&input[..at], &input[end..]].concat();
                let text: String = without.iter().collect();
                if self.outcome(&text).is_none() {
                    input = without;
                } else {
                    at = end;
                }
            }
            length /= 2;
        }
        input.into_iter().collect()
    }
}
