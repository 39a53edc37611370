//! The waits of std's channels and scopes take the token of `unpark`, as they do natively: a later
//! `park` may then never end.

use end_to_end::Workspace;

const TESTS: &str = r"
use std::sync::mpsc;

/// Runs `others` in another thread, which also unparks this thread. Then `wait` waits in std, and
/// this thread parks.
fn parks_after(wait: impl FnOnce(), others: impl FnOnce() + Send) {
    let this = thread::current();
    thread::scope(|scope| {
        scope.spawn(|| {
            this.unpark();
            others();
        });
        wait();
        thread::park();
    });
}

#[test]
fn a_receive() {
    let (sender, receiver) = mpsc::channel();
    parks_after(|| receiver.recv().unwrap(), || sender.send(()).unwrap());
}

#[test]
fn b_receive_with_a_timeout() {
    let (sender, receiver) = mpsc::channel();
    let timeout = std::time::Duration::from_secs(3600);
    parks_after(|| receiver.recv_timeout(timeout).unwrap(), || sender.send(()).unwrap());
}

#[test]
fn c_send_to_a_full_channel() {
    let (sender, receiver) = mpsc::sync_channel(1);
    sender.send(()).unwrap();
    parks_after(|| sender.send(()).unwrap(), move || {
        receiver.recv().unwrap();
        receiver.recv().unwrap();
    });
}

#[test]
fn d_rendezvous() {
    let (sender, receiver) = mpsc::sync_channel(0);
    parks_after(|| receiver.recv().unwrap(), || sender.send(()).unwrap());
}

#[test]
fn e_end_of_a_scope() {
    let this = thread::current();
    thread::scope(|scope| {
        scope.spawn(|| this.unpark());
    });
    thread::park();
}

#[test]
fn f_park_before_the_receive() {
    let (sender, receiver) = mpsc::channel();
    parks_after(|| (), || sender.send(()).unwrap());
    receiver.recv().unwrap();
}

#[test]
fn g_receive_without_a_wait() {
    let (sender, receiver) = mpsc::channel();
    sender.send(()).unwrap();
    parks_after(|| receiver.recv().unwrap(), || ());
}

#[test]
fn h_token_after_the_wait() {
    let (sender, receiver) = mpsc::channel();
    let (answers, answer) = mpsc::channel();
    let this = thread::current();
    thread::scope(|scope| {
        scope.spawn(move || {
            sender.send(()).unwrap();
            answer.recv().unwrap();
            this.unpark();
        });
        receiver.recv().unwrap();
        answers.send(()).unwrap();
        thread::park();
    });
}

#[test]
fn i_lock_and_join_take_no_token() {
    let this = thread::current();
    let lock = Mutex::new(());
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _guard = lock.lock().unwrap();
            this.unpark();
        });
        drop(lock.lock().unwrap());
        other.join().unwrap();
        thread::park();
    });
}
";

#[test]
fn a_wait_of_std_takes_the_token_of_a_later_park() {
    let workspace = Workspace::with_locks(TESTS);
    for strategy in ["icb", "dpor", "auto", "random"] {
        let args = ["test", "--no-fail-fast", "--message-format", "json"];
        let args = [
            &args[..],
            &[
                "--strategy",
                strategy,
                "--preemptions",
                "9",
                "--schedules",
                "2000",
            ],
        ]
        .concat();
        for jobs in ["--jobs=1", "--jobs=2"] {
            let run = workspace.chess(&[&args[..], &[jobs]].concat()).run();
            let verdicts = run.verdicts();
            assert_eq!(verdicts.len(), 9, "{run:?}");
            for verdict in verdicts {
                let test = verdict["test"].as_str().expect("a name");
                let has_deadlock = test < "f";
                let expected = if has_deadlock { "deadlock" } else { "" };
                let kind = verdict["kind"].as_str().unwrap_or("");
                assert_eq!(kind, expected, "{strategy}: {verdict}");
                if !has_deadlock && strategy != "random" {
                    assert_eq!(verdict["complete"], true, "{strategy}: {verdict}");
                }
            }
        }
    }
}

/// Fails only if the inner scope ends without a wait: then the task has its token when it parks.
/// Otherwise it parks until its timeout, and the other task has ended. The first schedule does not
/// come to the inner scope.
const KEPT: &str = r"
#[test]
fn kept() {
    let this = thread::current();
    let (begins, is_done) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| begins.store(1, SeqCst));
        if begins.load(SeqCst) == 0 {
            return;
        }
        scope.spawn(|| {
            is_done.store(1, SeqCst);
            this.unpark();
        });
        thread::scope(|inner| {
            inner.spawn(|| this.unpark());
        });
        thread::park_timeout(std::time::Duration::from_secs(3600));
        assert_eq!(is_done.load(SeqCst), 1);
    });
}
";

#[test]
fn a_scope_that_ends_without_a_wait_takes_no_token() {
    let workspace = Workspace::with_locks(KEPT);
    // `dpor` claims nothing here, because the wait has a timeout.
    for strategy in ["icb", "auto"] {
        let args = [
            "--strategy",
            strategy,
            "--spurious",
            "never",
            "--timing",
            "allow",
        ];
        let args = [&["test", "--message-format", "json"], &args[..]].concat();
        let verdict = workspace.chess(&args).run().verdict();
        assert_eq!(verdict["kind"], "panic", "{strategy}: {verdict}");
        let parts = ["1/2", "2/2"].map(|part| {
            let run = workspace.chess(&[&args[..], &["--shard", part]].concat());
            let verdict = run.run().verdict();
            verdict["kind"] == "panic" || verdict["complete"] == false
        });
        assert!(parts.contains(&true), "{strategy}");
    }
}

#[test]
fn no_part_of_a_divided_test_is_complete_without_the_token() {
    let workspace = Workspace::with_locks(TESTS);
    for test in ["a_receive", "e_end_of_a_scope"] {
        let parts = ["1/2", "2/2"].map(|part| {
            let args = ["test", test, "--message-format", "json", "--shard", part];
            let run = workspace.chess(&args).run();
            let verdict = run.verdict();
            assert!(!verdict["part"].is_null(), "{verdict}");
            verdict["kind"] == "deadlock" || verdict["complete"] == false
        });
        assert!(parts.contains(&true), "{test}");
    }
}
