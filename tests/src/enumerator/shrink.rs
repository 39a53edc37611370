//! Reduction of a program that shows a fault.

use super::{Op, Program};

/// Removes tasks and operations from `program`, one at a time, if the program still `fails`
/// without them. Returns a program from which nothing more can be removed.
pub fn shrink(mut program: Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    while let Some(smaller) = smaller(&program).into_iter().find(|less| fails(less)) {
        program = smaller;
    }
    program
}

/// Returns each program that results from the removal of one task or one operation.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    // Operations on tasks contain the numbers of those tasks.
    let names_tasks = |op: &Op| matches!(op, Op::Unpark(_) | Op::Join(_) | Op::IsFinished(_));
    if program.tasks.len() > 2 && !program.has(&names_tasks) {
        for task in 1..program.tasks.len() {
            let mut less = program.clone();
            less.tasks.remove(task);
            all.push(less);
        }
    }
    for (task, ops) in program.tasks.iter().enumerate() {
        for ops in without_one(ops) {
            let mut less = program.clone();
            less.tasks[task] = ops;
            all.push(less);
        }
    }
    all
}

/// Returns each list that results from the removal of one operation. An operation with a body can
/// be removed in two ways: with the operations in its body, or without them.
fn without_one(ops: &[Op]) -> Vec<Vec<Op>> {
    let mut all = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let mut less = ops.to_vec();
        less.splice(at..=at, []);
        all.push(less);
        if !op.body().is_empty() {
            let mut less = ops.to_vec();
            less.splice(at..=at, op.body().to_vec());
            all.push(less);
        }
        for body in without_one(op.body()) {
            let mut less = ops.to_vec();
            if let Some(own) = less[at].body_mut() {
                *own = body;
            }
            all.push(less);
        }
    }
    all
}
