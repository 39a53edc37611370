//! A deadlock as it is printed for people: the wait-for cycle, and then every other waiting task.
//! The message of the failure is a single sentence, from `deadlock_sentence.rs` of the vocabulary.
//!
//! `failure.rs` (whose report `human.rs` prints) and `explanation/cause.rs` use this module. They
//! also use it for other failures, if tasks still wait at the end of the execution.

use chess_vocabulary::Op;

use super::names::Names;
use crate::events::{Kind, Location};
use crate::protocol::{Blocked, Finished};
use crate::text::source_path;

/// The sentences about the tasks that wait at the end of the execution. The wait-for cycle comes
/// first, and then each other waiting task. For a deadlock, the hot liveness properties come last.
pub(super) fn sentences(finished: &Finished, names: &Names) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut mentioned = Vec::new();
    if let Some(sentence) = cycle(finished, names) {
        sentences.push(sentence);
        mentioned.clone_from(&finished.cycle);
    }
    for blocked in &finished.blocked {
        if !mentioned.contains(&blocked.task) {
            sentences.push(format!(
                "{} {}.",
                names.of(blocked.task),
                waits(blocked, names)
            ));
        }
    }
    // The message of another failure already names the hot properties.
    let is_deadlock = finished.kind == Some(Kind::Deadlock);
    let hot = finished.hot.iter().filter(|_| is_deadlock);
    sentences.extend(hot.map(|it| {
        let since = place(&it.since);
        format!(
            "The liveness property \"{}\" has been hot since {since}.",
            it.name
        )
    }));
    sentences
}

/// For example, `A cycle of waits: main waits for Mutex M1 at x:1, held by task 1 since y:2; task 1
/// waits for Mutex M2 at z:3, held by main since w:4.`
fn cycle(finished: &Finished, names: &Names) -> Option<String> {
    if finished.cycle.is_empty() {
        return None;
    }
    let of = |task: u32| finished.blocked.iter().find(|blocked| blocked.task == task);
    let mut sentence = "A cycle of waits: ".to_owned();
    for (position, task) in finished.cycle.iter().enumerate() {
        if position > 0 {
            sentence.push_str("; ");
        }
        sentence.push_str(&names.of(*task));
        let mut blocked = of(*task)?.clone();
        // If the object has no holder, the task waits for the next task of the cycle.
        let next = (position + 1) % finished.cycle.len();
        blocked.holder = blocked.holder.or(Some(finished.cycle[next]));
        sentence.push(' ');
        sentence.push_str(&waits(&blocked, names));
    }
    Some(sentence + ".")
}

/// For example, `waits for Mutex M1 at src/lib.rs:10, held by task 2 since src/lib.rs:7`.
fn waits(blocked: &Blocked, names: &Names) -> String {
    let mut words = vec![format!("waits {}", what(blocked))];
    words.extend(
        blocked
            .location()
            .map(|location| format!("at {}", place(&location))),
    );
    let holder = blocked.holder.map(|holder| names.of(holder));
    let held_by = match (holder, &blocked.held_at) {
        (None, _) => String::new(),
        (Some(holder), _) if blocked.op == Op::ScopeEnd => format!(", for {holder}"),
        (Some(holder), _) if blocked.op.std_lock().is_none() => format!(" for {holder}"),
        (Some(holder), None) => format!(", held by {holder}"),
        (Some(holder), Some(since)) => format!(", held by {holder} since {}", place(since)),
    };
    words.join(" ") + &held_by
}

fn place(location: &Location) -> String {
    format!("{}:{}", source_path(&location.file), location.line)
}

fn what(blocked: &Blocked) -> String {
    let object = blocked
        .object
        .as_ref()
        .map_or_else(String::new, |object| format!(" {object}"));
    if let Some(lock) = blocked.op.std_lock() {
        return match blocked.op {
            Op::RwLockRead => format!("to read {lock}{object}"),
            Op::RwLockWrite => format!("to write {lock}{object}"),
            _ => format!("for {lock}{object}"),
        };
    }
    match blocked.op {
        Op::CondvarWait | Op::CondvarWaitTimeout => {
            format!("for a notification of Condvar{object}")
        }
        Op::ScopeEnd => "for the threads of its scope".to_owned(),
        Op::Join if blocked.holder.is_some() => "in join".to_owned(),
        Op::Join => format!("in join{object}"),
        op if object.is_empty() => format!("in {op}"),
        op => format!("in {op} on{object}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::protocol::op_named;

    #[test]
    fn a_cycle_is_printed_in_one_sentence() {
        let finished = samples::deadlock();
        let names = Names::new(&finished.tasks);
        insta::assert_snapshot!(sentences(&finished, &names).join("\n"));
    }

    #[test]
    fn every_way_to_wait_has_words() {
        let blocked = |op: &str, object: &str, holder| Blocked {
            task: 1,
            op: op_named(op),
            object: Some(object.into()),
            file: Some("src/lib.rs".into()),
            line: Some(7),
            column: Some(5),
            holder,
            held_at: None,
            after: None,
            preempted: false,
            call: None,
            caller: None,
            note: None,
        };
        let names = Names::new(&[]);
        let sentences: Vec<String> = [
            blocked("Mutex::lock", "M1", Some(2)),
            blocked("Mutex::lock after wait", "M1", Some(2)),
            blocked("RwLock::read", "R1", Some(2)),
            blocked("RwLock::write", "R1", None),
            blocked("Condvar::wait", "C1", None),
            blocked("join", "T2", Some(2)),
            blocked("scope end", "scope 1", None),
            blocked("scope end", "scope 1", Some(2)),
            blocked("recv", "Q1", None),
            blocked("park", "P1", None),
            blocked("OnceLock::get_or_init", "O1", Some(0)),
        ]
        .iter()
        .map(|blocked| waits(blocked, &names))
        .collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }
}
