//! `replay --trace` prints each event when it happens, even if the process dies later.

use end_to_end::{Run, Workspace};

/// Finds the failure of `test`, and replays it with `--trace`.
fn traced(workspace: &Workspace, test: &str) -> Run {
    let run = workspace.chess(&["test", "--exact", test]).run();
    run.assert_code(100);
    let (_, id) = run.stderr.split_once("cargo chess replay ").expect("an id");
    workspace.chess(&["replay", "--trace", &id[..4]]).run()
}

/// Returns the output of a replay before the verdict.
fn trace(run: &Run) -> String {
    let said = run.message();
    let lines = said.lines().take_while(|line| line.starts_with(' '));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn events_are_printed_with_kinds_and_numbers_of_objects() {
    let run = traced(&Workspace::shared("catalog"), "bank::buggy");
    run.assert_code(100);
    insta::assert_snapshot!(trace(&run));
}

#[test]
fn the_events_before_a_crash_are_printed() {
    let run = traced(&Workspace::shared("hostile"), "segfault_in_some_schedules");
    run.assert_code(100);
    insta::assert_snapshot!(trace(&run));
    assert!(run.message().contains("\ncrash: hostile::crash"), "{run:?}");
}

#[test]
fn the_events_before_a_hang_are_printed() {
    const SOURCE: &str = r"
        #[test]
        fn counts() {
            use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
            let count = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let seen = count.load(SeqCst);
                        count.store(seen + 1, SeqCst);
                    });
                }
            });
            assert_eq!(count.into_inner(), 2);
        }
        ";
    let workspace = Workspace::with_library(SOURCE);
    workspace.write("Chess.toml", "[explore]\nwatchdog = \"1s\"\n");
    let run = workspace.chess(&["test"]).run();
    run.assert_code(100);
    let (_, id) = run.stderr.split_once("cargo chess replay ").expect("an id");
    let read = "let seen = count.load(SeqCst);";
    let hangs = SOURCE.replace(read, &format!("{read} loop {{}}"));
    workspace.write("src/lib.rs", &hangs);
    let run = workspace.chess(&["replay", "--trace", &id[..4]]).run();
    insta::assert_snapshot!(trace(&run));
    assert!(
        run.message()
            .contains("reached no scheduling point for 1 s"),
        "{run:?}"
    );
}
