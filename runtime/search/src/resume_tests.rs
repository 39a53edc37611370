//! Tests that each strategy continues from its saved state as if it had never stopped.

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};

use super::testing::{self, Act, Program};
use super::{Auto, Delay, Dpor, HashSet, Icb, Part, Pct, Portfolio, Pos, Random, Strategy, Surw};

/// Runs at most `most` schedules. About one in three of them has a new state. Returns the
/// executions, and the progress of the strategy after each one.
fn run(program: &Program, search: &mut dyn Strategy, most: usize) -> Vec<String> {
    let mut printed = Vec::new();
    while printed.len() < most && search.begin() {
        let outcome = testing::execute(program, search);
        let graph = format!("{:?}", outcome.graph);
        let sum: u64 = graph.bytes().map(u64::from).sum();
        search.observe(sum.is_multiple_of(3));
        printed.push(format!("{graph} {:?}", search.progress()));
    }
    printed
}

fn portfolio() -> Portfolio {
    let mut members: EngineVec<Box<dyn Strategy, EngineMemory>> = engine_vec();
    members.push(Box::new_in(Delay::new(1), EngineMemory));
    members.push(Box::new_in(Pct::new(3), EngineMemory));
    members.push(Box::new_in(Pos::new(4), EngineMemory));
    Portfolio::new(members)
}

#[test]
fn a_saved_search_continues_as_if_it_had_not_stopped() {
    const MOST: usize = 300;
    let program = vec![vec![Act::Add(0), Act::Add(1), Act::Add(0)]; 3];
    let part = Part { index: 1, count: 2 };
    let searches: [&dyn Fn() -> Box<dyn Strategy>; 11] = [
        &|| Box::new(Icb::new(3, u64::MAX)),
        // Some of the queued schedules are dropped, and have no node.
        &|| Box::new(Icb::new(3, 30)),
        &|| Box::new(Icb::new(3, u64::MAX).of_early_part(part)),
        &|| Box::new(Dpor::new()),
        &|| Box::new(Random::new(1)),
        &|| Box::new(Pct::new(2)),
        &|| Box::new(Pos::new(3)),
        &|| Box::new(Surw::new(4)),
        &|| Box::new(Delay::new(200)),
        &|| Box::new(portfolio()),
        &|| Box::new(Auto::new(2, 250, 250, 5, Part::WHOLE)),
    ];
    for new in searches {
        let whole = run(&program, &mut *new(), MOST);
        for stop in [1, 2, 7, 50, 99, 100, 101, 150, 299] {
            let mut search = new();
            let first = run(&program, &mut *search, stop);
            let mut checkpoint = Checkpoint::new();
            assert!(search.save(&mut checkpoint), "{}", search.name());
            let bytes = checkpoint.to_bytes();
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
fn a_truncated_checkpoint_is_refused() {
    let program = vec![vec![Act::Add(0); 3]; 2];
    let mut search = Icb::new(2, u64::MAX);
    run(&program, &mut search, 5);
    let mut checkpoint = Checkpoint::new();
    assert!(search.save(&mut checkpoint));
    let bytes = checkpoint.to_bytes();
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
    let mut checkpoint = Checkpoint::new();
    hashes.write(&mut checkpoint);
    "src/ring.rs".write(&mut checkpoint);
    let bytes = checkpoint.to_bytes();
    let input = &mut &bytes[..];
    let mut again = HashSet::read(input).unwrap();
    assert_eq!(again.count(), 3000);
    assert!((0..3000).all(|hash| !again.insert(hash * 7)));
    assert_eq!(<&str>::read(input), Some("src/ring.rs"));
    assert!(input.is_empty());
}
