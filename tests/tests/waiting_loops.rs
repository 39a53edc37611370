//! Loops that wait without a yield, or spin before they block, are let do so as an operating system would.

use end_to_end::Workspace;

const LIBRARY: &str = r"
#![cfg(test)]
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{hint, thread};

#[test]
fn sends_until_nobody_listens() {
    let (sender, receiver) = channel();
    let listener = thread::spawn(move || receiver.recv().unwrap());
    while sender.send(1).is_ok() {}
    listener.join().unwrap();
}

#[test]
fn spins_before_it_blocks() {
    let (sender, receiver) = channel();
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(150));
        sender.send(1).unwrap();
    });
    for _ in 0..22 {
        hint::spin_loop();
    }
    assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
    assert_eq!(receiver.recv(), Ok(1));
    late.join().unwrap();
}
";

#[test]
fn a_loop_without_yields_ends_once_the_others_had_their_turn() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace
        .chess(&args)
        .arg("sends_until_nobody_listens")
        .arg("--schedules=1")
        .arg("--max-steps=1000")
        .run();
    run.assert_code(0);
    assert!(run.verdict()["steps"].as_u64().unwrap() < 100_000);
}

#[test]
fn a_sleep_ends_before_a_shorter_one_of_a_spinner_at_the_cost_of_a_preemption() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = ["test", "--message-format=json", "--exact"];
    let run = workspace.chess(&args).arg("spins_before_it_blocks").run();
    run.assert_code(100);
    assert_eq!(run.verdict()["preemptions"], 1);
}
