//! `--resume`: a run that was interrupted at any moment has the same results as an uninterrupted
//! one.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::{Run, Workspace, assert_none_is_left, without_durations};
use serde_json::Value;

/// Tests of different durations and outcomes, in the order of their names.
const TESTS: &str = r"
fn unlocked() {
    let count = AtomicU32::new(0);
    let increment = || count.store(count.load(SeqCst) + 1, SeqCst);
    thread::scope(|scope| {
        scope.spawn(increment);
        scope.spawn(increment);
    });
    assert_eq!(count.into_inner(), 2);
}

#[test] fn a_short() { locked(2, 1) }
#[test] fn b_middle() { locked(3, 3) }
#[test] fn c_fails() { unlocked() }
#[test] fn d_middle() { locked(3, 3) }
#[test] #[ignore] fn e_is_ignored() { locked(2, 2) }
#[test] fn f_long() { locked(3, 4) }
#[test] fn g_deadlock() {
    let (left, right) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _left = left.lock().unwrap();
            let _right = right.lock().unwrap();
        });
        let _right = right.lock().unwrap();
        let _left = left.lock().unwrap();
    });
}
#[test] fn h_crashes() {
    let flag = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(1, SeqCst));
        if flag.load(SeqCst) == 1 {
            std::process::abort();
        }
    });
}
#[test] fn i_middle() { locked(2, 5) }
#[test] fn j_long() { locked(2, 7) }
#[test] #[should_panic] fn k_panics() { unlocked(); panic!() }
#[test] fn l_short() { locked(2, 2) }
";

/// Changes a test, and thereby the binary.
fn change_tests(workspace: &Workspace) {
    let tests = fs::read_to_string(workspace.root().join("src/lib.rs")).expect("it was written");
    let changed = tests.replace(
        "fn l_short() { locked(2, 2) }",
        "fn l_short() { locked(2, 3) }",
    );
    assert_ne!(tests, changed);
    workspace.write("src/lib.rs", &changed);
}

fn run(workspace: &Workspace, more_args: &[&str]) -> Run {
    let args = ["test", "--message-format", "json", "--jobs", "1"];
    workspace.chess(&[&args, more_args].concat()).run()
}

fn events(run: &Run) -> Vec<Value> {
    without_durations(run.events())
}

/// Returns a workspace and a run in it. The run ended at its third test, which failed. The run has
/// the verdicts of these three tests and of an ignored test.
fn cut_short() -> (Workspace, Run) {
    let workspace = Workspace::with_locks(TESTS);
    let run = run(&workspace, &[]);
    run.assert_code(100);
    assert_eq!(
        run.verdicts().len(),
        4,
        "three and the ignored one: {run:?}"
    );
    (workspace, run)
}

fn journal(workspace: &Workspace) -> PathBuf {
    workspace.root().join("target/chess/journal")
}

#[track_caller]
fn assert_says(run: &Run, sentence: &str) {
    assert!(run.stderr.contains(sentence), "no `{sentence}` in {run:?}");
}

/// Returns the number of verdicts that the run took over from an earlier run.
#[track_caller]
fn taken_over(run: &Run) -> usize {
    let (_, rest) = run.stderr.split_once("Resuming with ").expect("it says so");
    let count = rest.split(' ').next().expect("a word");
    count.parse().unwrap_or(0)
}

/// A deterministic generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_an_undisturbed_one() {
    const KILLS: usize = 20;
    let workspace = Workspace::with_locks(TESTS);
    let args = ["test", "--message-format", "json", "--no-fail-fast"];
    workspace.chess(&args).run().assert_code(100);
    let start = Instant::now();
    let undisturbed = workspace.chess(&args).run();
    let span = u64::try_from(start.elapsed().as_micros()).expect("a short time");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut kills = 0;
    while kills < KILLS {
        let mut resume: &[&str] = &[];
        loop {
            let process = workspace.chess(&[&args, resume].concat()).start();
            thread::sleep(Duration::from_micros(random.below(span)));
            process.kill();
            let run = process.finish(Duration::from_mins(1));
            if run.signal.is_none() {
                assert_eq!(run.code, undisturbed.code, "{run:?}");
                assert_eq!(events(&run), events(&undisturbed), "after {kills} kills");
                break;
            }
            kills += 1;
            resume = &["--resume"];
        }
    }
    assert!(!journal(&workspace).exists());
    assert_none_is_left(workspace.root());
}

/// A test whose search takes much longer than the time between two saved states. Each execution
/// appends a byte to a file.
const LONG: &str = r#"
#[test]
fn long() {
    locked(4, 5);
    let file = std::fs::File::options().append(true).open("executions");
    std::io::Write::write_all(&mut file.unwrap(), b".").unwrap();
}
"#;

#[test]
fn a_killed_search_continues_from_its_checkpoint() {
    for strategy in ["icb", "pct,surw"] {
        let workspace = Workspace::with_locks(LONG);
        workspace.write("executions", "");
        let executions = || {
            let file = fs::metadata(workspace.root().join("executions"));
            file.expect("it was written").len()
        };
        let long = ["--preemptions", "3", "--schedules", "150000"];
        let args = [&["--strategy", strategy], &long[..]].concat();
        let undisturbed = run(&workspace, &args);
        undisturbed.assert_code(0);
        let all_executions = executions();
        assert!(all_executions > 50_000, "{undisturbed:?}");
        let mut resume: &[&str] = &[];
        for delay in [0, 300, 700] {
            // The killed runs explore in two processes, and the undisturbed run explores in one.
            let all = ["test", "--message-format", "json", "--jobs", "2"];
            let mut process = workspace.chess(&[&all, &args[..], resume].concat()).start();
            if !process.wait_until(|| workspace.has_in_journal("search")) {
                // The machine is so fast that the run ended before a state was saved.
                break;
            }
            thread::sleep(Duration::from_millis(delay));
            process.kill();
            process.finish(Duration::from_mins(1));
            resume = &["--resume"];
        }
        let before = executions();
        let resumed = run(&workspace, &[&args[..], resume].concat());
        assert_eq!(events(&resumed), events(&undisturbed));
        if !resume.is_empty() {
            let repeated = executions() - before;
            assert!(
                repeated < all_executions,
                "the state was not used: {repeated} executions of {all_executions}"
            );
        }
        assert_none_is_left(workspace.root());
    }
}

#[test]
fn a_run_continues_where_its_first_failure_ended_it() {
    let (workspace, first) = cut_short();
    let resumed = run(&workspace, &["--resume", "--no-fail-fast"]);
    assert!(taken_over(&resumed) >= 3, "{resumed:?}");
    // Verdicts that are taken over are reported unchanged, with their original durations.
    let verdicts = resumed.verdicts();
    assert_eq!(verdicts[..4], first.verdicts());
    assert_eq!(resumed.code, Some(100));
    let anew = run(&workspace, &["--no-fail-fast"]);
    assert_eq!(events(&resumed), events(&anew));
    assert!(!journal(&workspace).exists(), "nothing is left to resume");
}

#[test]
fn a_failure_that_is_taken_over_is_reported_in_full() {
    let (workspace, first) = cut_short();
    fs::remove_dir_all(workspace.root().join("target/chess/failures")).expect("it was saved");
    let again = run(&workspace, &["--resume"]);
    let report = |run: &Run| {
        let start = run.stderr.find("panic: small c_fails").expect("a report");
        let end = run.stderr.rfind("    Finished").expect("a summary");
        run.stderr[start..end].to_owned()
    };
    assert_eq!(report(&again), report(&first));
    let schedule = again.verdicts()[3]["schedule"].clone();
    let schedule = schedule.as_str().expect("a saved schedule");
    workspace
        .chess(&["replay", schedule])
        .run()
        .assert_code(100);
}

#[test]
fn without_the_flag_a_run_begins_anew() {
    let (workspace, first) = cut_short();
    let again = run(&workspace, &[]);
    assert!(!again.stderr.contains("Resuming"), "{again:?}");
    assert_eq!(events(&again), events(&first));
    // A run of one test keeps the journal of the other tests.
    run(&workspace, &["a_short"]).assert_code(0);
    let resumed = run(&workspace, &["--resume"]);
    assert!(taken_over(&resumed) >= 2, "{resumed:?}");
    assert!(taken_over(&resumed) < 4, "{resumed:?}");
    assert_eq!(events(&resumed), events(&first));
}

#[test]
fn a_run_that_came_to_its_end_leaves_nothing_to_resume() {
    let workspace = Workspace::with_locks(TESTS);
    run(&workspace, &["short"]).assert_code(0);
    let again = run(&workspace, &["short", "--resume"]);
    again.assert_code(0);
    assert_says(&again, "Resuming with no verdict of the earlier run");
}

#[test]
fn a_test_with_other_options_is_run_anew() {
    let (workspace, _) = cut_short();
    let resumed = run(&workspace, &["--resume", "--preemptions", "1"]);
    assert_says(
        &resumed,
        "warning: these tests run again from the start, because their options have changed \
         (preemptions: 2 then, 1 now): `small a_short`, `small b_middle`, `small c_fails`",
    );
    let anew = run(&workspace, &["--preemptions", "1"]);
    assert_eq!(events(&resumed), events(&anew));
}

#[test]
fn a_test_with_another_binary_is_run_anew() {
    let (workspace, _) = cut_short();
    change_tests(&workspace);
    let resumed = run(&workspace, &["--resume", "--no-fail-fast"]);
    assert_says(
        &resumed,
        "because their binary has changed: `small a_short`, ",
    );
    assert_says(&resumed, "Resuming with no verdict");
    let anew = run(&workspace, &["--no-fail-fast"]);
    assert_eq!(events(&resumed), events(&anew));
}

#[test]
fn a_damaged_journal_is_neither_trusted_nor_fatal() {
    let (workspace, _) = cut_short();
    let mut files: Vec<PathBuf> = fs::read_dir(journal(&workspace))
        .expect("a journal")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    files.sort();
    let [first, second, third, ..] = &files[..] else {
        panic!("{files:?}");
    };
    let bytes = fs::read(first).expect("it can be read");
    fs::write(first, &bytes[..bytes.len() / 2]).expect("it can be written");
    let text = fs::read_to_string(second).expect("text");
    let lie = text.replace("\"schedules\":", "\"schedules\":1");
    assert_ne!(text, lie);
    fs::write(second, lie).expect("it can be written");
    fs::remove_file(third).expect("it is there");
    fs::create_dir(third).expect("the name is free");
    let resumed = run(&workspace, &["--resume", "--no-fail-fast"]);
    assert_says(
        &resumed,
        "because their files in the journal are damaged: `small a_short`, ",
    );
    assert_says(
        &resumed,
        "warning: some results could not be stored in the journal, and --resume will not find them: ",
    );
    fs::remove_dir(third).expect("it is empty");
    let anew = run(&workspace, &["--no-fail-fast"]);
    assert_eq!(events(&resumed), events(&anew));
}

#[test]
fn an_interrupted_run_is_resumed_too() {
    let workspace = Workspace::with_locks(TESTS);
    let args = ["test", "--message-format", "json", "--no-fail-fast"];
    let mut process = workspace.chess(&args).arg("--jobs=1").start();
    assert!(process.wait_until(|| workspace.has_in_journal("verdict")));
    process.interrupt();
    process.finish(Duration::from_secs(20)).assert_code(130);
    let resumed = run(&workspace, &["--no-fail-fast", "--resume"]);
    assert!(taken_over(&resumed) >= 1, "{resumed:?}");
    let anew = run(&workspace, &["--no-fail-fast"]);
    assert_eq!(events(&resumed), events(&anew));
}

#[test]
fn a_shard_is_resumed_as_a_run_is() {
    let workspace = Workspace::with_locks(TESTS);
    let shard = ["--shard", "2/2"];
    let cut = run(&workspace, &shard);
    cut.assert_code(100);
    let all = ["--shard", "2/2", "--no-fail-fast"];
    let resumed = run(&workspace, &[&all[..], &["--resume"]].concat());
    assert!(taken_over(&resumed) >= 1, "{resumed:?}");
    assert_eq!(events(&resumed), events(&run(&workspace, &all)));
}
