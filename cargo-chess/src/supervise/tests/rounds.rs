//! Rounds over tests that pause on request.

use std::thread;
use std::time::Duration;

use super::fake::{FAILED, Fakes, PASSED, Ran};
use crate::error::exit_code;
use crate::events::{Outcome, Stop};

/// The commands of a test that pauses in `rounds` rounds before its `verdict`. In each round, the
/// test stores its state, which is the number of rounds so far, and finds this state again in the
/// next round.
fn after(rounds: u32, verdict: &str) -> String {
    let script = r#"
read cores
had=$(cat)
pause=$(echo "${CHESS_REQUEST##*pause=}" | head -n 1 | sed 's/^0*//')
had=$((${had:-0} + 1))
echo $had >>$2.turns
if [ "$had" -le ROUNDS ] && [ -n "$pause" ]; then
    printf '01\n%s' $had 1<>/dev/stdin
    echo '{"type":"finished","outcome":"passed","paused":true,"work":'$pause',"schedules":'$had',"executions":'$had',"distinct":0,"pruned":0,"steps":0,"max_steps_in_execution":0,"threads":0,"bound_completed":0}'
else
    echo 'VERDICT'
fi
"#;
    let script = script.replace("ROUNDS", &rounds.to_string());
    script.replace("VERDICT", verdict)
}

fn order(ran: &Ran) -> Vec<(&str, Option<Stop>)> {
    let verdicts = ran.verdicts().into_iter();
    verdicts
        .map(|test| (test.test.as_str(), test.stopped))
        .collect()
}

fn turns(fakes: &Fakes, test: &str) -> String {
    let turns = std::fs::read_to_string(fakes.root().join(format!("{test}.turns")));
    turns.unwrap_or_default().replace('\n', " ")
}

fn count<'a>(ran: &Ran, name: &'a str) -> (&'a str, u64) {
    let last = ran.json().pop().expect("an event");
    (name, last[name].as_u64().expect("a number"))
}

#[test]
fn tests_are_reported_by_the_round_that_ends_them_for_any_number_of_jobs() {
    let fakes = |jobs| {
        let mut fakes = Fakes::new().binary(
            "t",
            &[
                ("a", &after(2, PASSED)),
                ("b", &after(0, PASSED)),
                ("c", &after(1, FAILED)),
                ("d", &after(2, PASSED)),
                ("e", &after(0, FAILED)),
            ],
        );
        fakes.options.jobs = Some(jobs);
        fakes
    };
    let one = fakes(1);
    let ran = one.run();
    let names = ["b", "e", "c", "a", "d"].map(|test| (test, None));
    assert_eq!(order(&ran), names);
    assert_eq!(turns(&one, "a"), "1 2 3 ", "it goes on from its state");
    assert_eq!(turns(&one, "b"), "1 ");
    assert_eq!(ran.json(), fakes(4).run().json());
    assert!(!one.root().join("target/chess/journal").exists());
}

#[test]
fn a_search_without_a_state_begins_anew() {
    let paused = r#"{"type":"finished","outcome":"passed","paused":true,"lost":true,"work":400000,"schedules":0,"executions":0,"distinct":0,"pruned":0,"steps":0,"max_steps_in_execution":0,"threads":0}"#;
    let body = format!(
        "read cores
        echo \"${{CHESS_REQUEST##*resume=}}\" | head -n 1 >>$2.turns
        printf '01\\nfoo' 1<>/dev/stdin
        case $CHESS_REQUEST in
        *pause=00000000000000400000?pause-ms=00000000000000002000*) echo '{paused}';;
        *) echo '{PASSED}';;
        esac"
    );
    let fakes = Fakes::new().binary("t", &[("one", &body), ("other", &after(0, PASSED))]);
    let ran = fakes.run();
    assert_eq!(order(&ran), [("other", None), ("one", None)]);
    assert_eq!(turns(&fakes, "one"), "0 0 ");
}

#[test]
fn a_failure_ends_the_run_after_the_turns_before_its_own() {
    for jobs in [1, 4] {
        let mut fakes = Fakes::new().binary(
            "t",
            &[
                ("a", &after(3, PASSED)),
                ("b", &after(1, FAILED)),
                ("c", &after(3, PASSED)),
                ("d", &after(0, PASSED)),
            ],
        );
        fakes.options.fail_fast = true;
        fakes.options.jobs = Some(jobs);
        let ran = fakes.run();
        assert_eq!(ran.code(), exit_code::FAILURE_FOUND);
        let expected = [
            ("d", None),
            ("b", None),
            ("a", Some(Stop::Round)),
            ("c", Some(Stop::Look)),
        ];
        assert_eq!(order(&ran), expected);
        let schedules: Vec<u64> = ran
            .verdicts()
            .iter()
            .map(|test| test.counts.schedules)
            .collect();
        assert_eq!(schedules, [7, 3, 2, 1]);
        assert_eq!(count(&ran, "stopped"), ("stopped", 2));
        assert_eq!(count(&ran, "only_looked_at"), ("only_looked_at", 1));
        assert_eq!(count(&ran, "not_run"), ("not_run", 0));
    }
}

#[test]
fn tests_after_a_failure_in_the_first_round_are_not_run() {
    for jobs in [1, 4] {
        let mut fakes = Fakes::new().binary(
            "t",
            &[
                ("a", &after(3, PASSED)),
                ("b", &after(0, FAILED)),
                ("c", &after(0, PASSED)),
            ],
        );
        fakes.options.fail_fast = true;
        fakes.options.jobs = Some(jobs);
        let ran = fakes.run();
        assert_eq!(order(&ran), [("b", None), ("a", Some(Stop::Look))]);
        assert_eq!(count(&ran, "not_run"), ("not_run", 1));
    }
}

#[test]
fn when_the_time_of_the_run_is_over_each_test_had_its_look_and_the_run_can_be_resumed() {
    let mut fakes = Fakes::new().binary(
        "t",
        &[
            ("a", &after(2, PASSED)),
            ("b", &after(0, PASSED)),
            ("c", &after(1, PASSED)),
        ],
    );
    fakes.flags.time_total = Some(Duration::from_nanos(1));
    let ran = fakes.run();
    assert_eq!(ran.code(), exit_code::OK);
    let look = Some(Stop::Look);
    assert_eq!(order(&ran), [("b", None), ("a", look), ("c", look)]);
    fakes.flags.time_total = None;
    fakes.options.resume = true;
    let ran = fakes.run();
    assert_eq!(order(&ran), [("b", None), ("c", None), ("a", None)]);
    assert_eq!(turns(&fakes, "a"), "1 2 3 ");
    assert_eq!(turns(&fakes, "b"), "1 ");
}

#[test]
fn a_test_that_the_time_of_the_run_ended_reports_its_exploration() {
    let ended = PASSED.replace(
        r#""bound_completed":2"#,
        r#""bound_completed":1,"time_ended":true"#,
    );
    let mut fakes = Fakes::new().binary("t", &[("a", &after(1, &ended)), ("b", &after(2, PASSED))]);
    (fakes.flags.time, fakes.flags.time_total) =
        (Some(Duration::from_hours(2)), Some(Duration::from_hours(1)));
    let ran = fakes.run();
    let round = Some(Stop::Round);
    assert_eq!(order(&ran), [("a", round), ("b", round)]);
    let first = ran.verdicts()[0];
    assert_eq!(
        (first.counts.schedules, first.bound_completed),
        (7, Some(1))
    );
    assert_eq!(first.warnings, [""; 0]);
}

#[test]
fn an_interrupted_run_reports_the_extent_of_the_exploration() {
    let hang = after(1, PASSED).replace(
        "else\n",
        "else\necho $$ >pid-$2.new && mv pid-$2.new pid-$2; exec sleep 1000\n",
    );
    let fakes = Fakes::new().binary("t", &[("a", &hang), ("b", &hang)]);
    let interrupt = fakes.interrupt.clone();
    let root = fakes.root();
    let ran = thread::scope(|scope| {
        scope.spawn(move || {
            while !(root.join("pid-a").exists() && root.join("pid-b").exists()) {
                thread::sleep(Duration::from_millis(10));
            }
            interrupt.request();
        });
        fakes.run()
    });
    assert_eq!(ran.code(), exit_code::INTERRUPTED);
    let look = Some(Stop::Look);
    assert_eq!(order(&ran), [("a", look), ("b", look)]);
    assert!(
        ran.verdicts()
            .iter()
            .all(|test| test.outcome == Outcome::Passed && test.bound_completed == Some(0))
    );
}
