//! Events that most programs never observe are scheduling points only in programs that observe
//! them.

use end_to_end::Workspace;

/// Operations by which a program can distinguish a thread's last operation from the drop of its
/// values.
const LOOKS: [(&str, &str); 4] = [
    (
        "unwraps",
        "let mut shared = shared;
         if done.load(SeqCst) { shared = Arc::new(Arc::try_unwrap(shared).expect(\"seen\")); }
         drop(shared);",
    ),
    (
        "counts",
        "if done.load(SeqCst) { assert_eq!(Arc::strong_count(&shared), 1, \"seen\"); }",
    ),
    (
        "upgrades",
        "let weak = Arc::downgrade(&shared);
         drop(shared);
         if done.load(SeqCst) { assert!(weak.upgrade().is_none(), \"seen\"); }",
    ),
    (
        "asks_for_the_end",
        "if done.load(SeqCst) { assert!(thread.is_finished(), \"seen\"); }",
    ),
];

/// Returns a program whose main task performs `first`, and then `looks`: it observes a thread that
/// has finished its work, but may still own its values.
fn program(looks: &str, first: &str) -> String {
    format!(
        "use std::sync::Arc;
         use std::sync::atomic::{{AtomicBool, Ordering::SeqCst}};

         #[test]
         fn test() {{
             static DONE: AtomicBool = AtomicBool::new(false);
             let done = &DONE;
             let shared = Arc::new(0);
             let thread = std::thread::spawn({{
                 let shared = shared.clone();
                 move || {{
                     DONE.store(*shared == 0, SeqCst);
                 }}
             }});
             {first}
             {looks}
         }}"
    )
}

#[test]
fn observers_see_every_order() {
    let workspace = Workspace::with_library("");
    for (name, looks) in LOOKS {
        workspace.write(&format!("tests/{name}.rs"), &program(looks, ""));
        let fixed = program(
            looks,
            "while !thread.is_finished() { std::thread::yield_now(); }",
        );
        workspace.write(&format!("tests/{name}_at_the_end.rs"), &fixed);
    }
    for profile in ["--cargo-profile=dev", "--cargo-profile=release"] {
        for (name, _) in LOOKS {
            let test = |target: &str| {
                let target = format!("--test={target}");
                let args = ["test", profile, &target, "--message-format=json"];
                workspace.chess(&args).run().verdict()
            };
            let buggy = test(name);
            assert_eq!(buggy["outcome"], "failed", "{name} {profile}: {buggy}");
            assert_eq!(buggy["preemptions"], 2, "{name} {profile}: {buggy}");
            let fixed = test(&format!("{name}_at_the_end"));
            assert_eq!(fixed["outcome"], "passed", "{name} {profile}: {fixed}");
        }
    }
}
