//! Shrinks a program that shows an error of a search.

use super::{Act, Program};

/// Removes acts of `program` for a readable message. An act is removed if the program still
/// `fails` without it.
pub fn shrink(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    let smaller = |program: &Program| {
        let places = (0..program.len()).flat_map(|task| {
            let acts = 0..program[task].len();
            acts.map(move |act| (task, act))
        });
        let mut without = places.map(|(task, act)| {
            let mut program = program.clone();
            program[task].remove(act);
            program
        });
        without.find(|program| makes_sense(program) && fails(program))
    };
    while let Some(program) = smaller(&smallest) {
        smallest = program;
    }
    smallest
}

/// Whether each task acquires only locks that it does not hold, and releases only locks that it
/// holds.
fn makes_sense(program: &Program) -> bool {
    program.iter().all(|acts| {
        let mut held = Vec::new();
        acts.iter().all(|&act| match act {
            Act::Lock(lock) | Act::TryLock(lock) | Act::Read(lock) | Act::TryRead(lock) => {
                let is_new = !held.contains(&lock);
                held.push(lock);
                is_new
            }
            Act::Unlock(lock) | Act::EndRead(lock) => {
                let place = held.iter().position(|&other| other == lock);
                place.is_some_and(|place| held.remove(place) == lock)
            }
            Act::Wait(_, lock) | Act::Downgrade(lock) => held.contains(&lock),
            _ => true,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_what_the_fault_needs() {
        let section = vec![Act::Lock(0), Act::Add(1), Act::Unlock(0), Act::Yield];
        let program = vec![section.clone(), section];
        let locks = |program: &Program| program[1].contains(&Act::Lock(0));
        let smallest = shrink(&program, locks);
        assert_eq!(smallest, [vec![], vec![Act::Lock(0)]]);
    }
}
