//! Services and actors in one process (fixtures/services): each defect is found with default settings,
//! and the correct code passes.

use std::collections::BTreeMap;

use end_to_end::Workspace;
use serde_json::Value;

/// The tests with a defect, each with its outcome and the kind of its failure.
const DEFECTS: [(&str, &str, &str); 11] = [
    ("actors first_post", "failed", "panic"),
    ("actors overdraft", "failed", "panic"),
    // Only a lease that expires early shows the defect. `strict` makes this a failure.
    ("leases a_quick_worker", "timing", "panic"),
    ("leases a_quick_worker::strict", "failed", "panic"),
    ("leases a_renewal_at_the_last_moment", "failed", "panic"),
    ("leases a_slow_worker", "failed", "panic"),
    ("memcached cas", "failed", "panic"),
    ("memcached evict", "failed", "deadlock"),
    ("memcached get", "failed", "panic"),
    ("memcached incr", "failed", "panic"),
    ("memcached stats", "failed", "panic"),
];

/// Returns the verdicts on the tests called `name`, by package and module.
fn verdicts(
    workspace: &Workspace,
    code: i32,
    name: &str,
    args: &[&str],
) -> BTreeMap<String, Value> {
    let all = [
        "test",
        name,
        "--locked",
        "--no-fail-fast",
        "--message-format",
        "json",
    ];
    let run = workspace.chess(&[&all[..], args].concat()).run();
    run.assert_code(code);
    let module = |verdict: &Value| {
        let text = |key: &str| verdict[key].as_str().expect("a text");
        let package = text("binary").split("::").next().expect("a package");
        let module = text("test")
            .strip_suffix(name)
            .expect("the test is called so");
        format!("{package} {}", module.trim_end_matches("::"))
    };
    let verdicts = run.verdicts().into_iter();
    verdicts.map(|it| (module(&it), it)).collect()
}

#[test]
fn defects_are_found_with_default_settings_and_replay() {
    let workspace = Workspace::shared("services");
    let found = verdicts(&workspace, 100, "buggy", &[]);
    assert_eq!(found.len(), DEFECTS.len(), "{:?}", found.keys());
    for (module, outcome, kind) in DEFECTS {
        let verdict = &found[module];
        assert_eq!(verdict["outcome"], outcome, "{verdict}");
        assert_eq!(verdict["kind"], kind, "{verdict}");
    }
    let preemptions = |module: &str| found[module]["preemptions"].as_u64();
    assert_eq!(preemptions("leases a_slow_worker"), Some(0));
    assert_eq!(preemptions("leases a_renewal_at_the_last_moment"), Some(1));
    for module in [
        "actors overdraft",
        "leases a_quick_worker",
        "memcached evict",
    ] {
        let schedule = found[module]["schedule"].as_str().expect("a schedule");
        let run = workspace.chess(&["replay", schedule]).run();
        run.assert_says(100, &["Reproduced"]);
    }
}

#[test]
fn correct_services_pass() {
    let workspace = Workspace::shared("services");
    let passed = verdicts(&workspace, 0, "fixed", &["--schedules", "256"]);
    for (module, verdict) in &passed {
        assert_eq!(verdict["outcome"], "passed", "{verdict}");
        // The search covers all schedules without preemptions, and samples of the others. (Of the
        // schedules with early timeouts, it may have finished no bound.)
        let finished = match &verdict["timers_last"] {
            Value::Null => verdict,
            without_early_timeouts => without_early_timeouts,
        };
        assert!(finished["bound_completed"].as_u64() >= Some(0), "{verdict}");
        let is_complete = module.starts_with("leases") == (finished["complete"] == true);
        assert!(is_complete, "{verdict}");
    }
    assert_eq!(passed.len(), DEFECTS.len());
}

#[test]
fn a_workload_reaches_many_states_of_the_cache() {
    let workspace = Workspace::shared("services");
    let args = ["--test", "states", "--schedules", "256"];
    let verdicts = verdicts(&workspace, 0, "of_three_clients", &args);
    let states = verdicts["memcached "]["covered"]["states"].as_u64();
    assert!(states > Some(20), "{verdicts:?}");
}
