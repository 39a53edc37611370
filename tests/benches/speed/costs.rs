//! The costs of single operations: in a plain build, and in a build of cargo chess, both outside
//! and inside an execution.

use std::collections::HashMap;
use std::fs;

use end_to_end::{Chess, Workspace};

use crate::processor::time_of_children;
use crate::sample::{Profile, Sample, Spread};

/// The duration of the shorter exploration of a sample. It is not a number of executions, because
/// the costs of operations differ by a factor of a hundred.
const SHORT: &str = "200ms";
/// The ratio of the number of executions of the longer exploration of a sample to that of the
/// shorter one.
const LONGER: f64 = 5.0;

/// The number of times that a test in `fixtures/benchmarks/costs/tests/inside.rs` performs its
/// operation.
const TIMES: f64 = 1000.0;

/// The test in `fixtures/benchmarks/costs/tests/inside.rs` that performs no operation.
const NOTHING: &str = "nothing";

const NOTES: &str = "\
Costs are of processor time, medians of the rounds, with the least and the greatest of those
inside an execution:
  plain     the operation in a program that cargo built
  outside   the same program built by cargo chess, where nothing is scheduled
  inside    in an execution of one task that is never preempted: in preempt code each operation,
            and the first one of each call into opaque code, is a scheduling point
Inside, a clock of the program's own would be virtual: an execution with a thousand operations
is compared with one that has none. A statement mark is what a loop of marked statements takes
longer than an unmarked one.";

/// A row of the table.
struct Row {
    title: &'static str,
    operation: &'static str,
    /// An operation whose cost is subtracted: it costs as much as `operation` without the measured
    /// part.
    without: Option<&'static str>,
    /// The number of measured units in one operation. For instance, the operation `lock` has two
    /// units: a lock and an unlock.
    parts: f64,
}

impl Row {
    /// Returns the cost of one unit in nanoseconds, from the costs of the operations in one round.
    fn of(&self, costs: &Costs) -> f64 {
        let without = self.without.map_or(0.0, |operation| costs[operation]);
        (costs[self.operation] - without) / self.parts
    }

    const fn new(title: &'static str, operation: &'static str, parts: f64) -> Self {
        Self {
            title,
            operation,
            without: None,
            parts,
        }
    }
}

const ROWS: [Row; 11] = [
    Row::new("fetch_add in preempt code", "fetch_add", 1.0),
    Row::new("fetch_add in atomic code", "fetch_add_in_atomic", 1.0),
    Row::new("Mutex, lock or unlock, in preempt code", "lock", 2.0),
    Row::new(
        "Mutex, lock or unlock, in atomic code",
        "lock_in_atomic",
        2.0,
    ),
    Row {
        without: Some("statements_unmarked"),
        ..Row::new("statement mark", "statements", 2.0)
    },
    Row::new("Instant::now", "clock", 1.0),
    Row::new("read or write of a byte through a pipe", "pipe", 2.0),
    Row::new("poll of a ready descriptor", "poll", 1.0),
    Row::new("pthread_mutex, lock or unlock", "pthread_mutex", 2.0),
    Row::new("call into opaque code", "opaque", 1.0),
    Row::new("call within opaque code", "opaque_within", 1.0),
];

/// The cost of each operation in nanoseconds, by its name.
type Costs = HashMap<String, f64>;

/// Prints the cost of each operation in each of the three settings.
pub(crate) fn print(workspace: &Workspace, profile: Profile, rounds: usize) {
    let build = |call: Chess| call.run().assert_code(0);
    build(plainly(workspace, profile, &["--no-run"]));
    build(chess(workspace, profile, "inside", &["--exact", NOTHING]));
    let rounds: Vec<[Costs; 3]> = (0..rounds)
        .map(|_| {
            [
                of_program(workspace, plainly(workspace, profile, &[])),
                of_program(
                    workspace,
                    chess(workspace, profile, "outside", &["--no-tests", "pass"]),
                ),
                of_executions(workspace, profile),
            ]
        })
        .collect();
    println!(
        "\n== costs, {} profile, in nanoseconds ==\n\n{:<40} {:>8} {:>8} {:>8}",
        profile.name(),
        "operation",
        "plain",
        "outside",
        "inside"
    );
    for row in &ROWS {
        let spread = |place: usize| Spread::of(rounds.iter().map(|round| row.of(&round[place])));
        let [Some(plain), Some(outside), Some(inside)] = [0, 1, 2].map(spread) else {
            return;
        };
        println!(
            "{:<40} {:>8.1} {:>8.1} {:>8.1}  ({:.1} to {:.1})",
            row.title, plain.median, outside.median, inside.median, inside.least, inside.greatest
        );
    }
}

/// Prints an explanation of the tables.
pub(crate) fn print_notes() {
    println!("\n{NOTES}");
}

/// Returns the costs that the program `outside` has measured. `call` starts the program.
fn of_program(workspace: &Workspace, call: Chess) -> Costs {
    let file = workspace.root().join("target/costs");
    call.env("COSTS", &file).run().assert_code(0);
    let lines = fs::read_to_string(&file).expect("the program has written it");
    let cost = |line: &str| {
        let (name, nanos) = line.split_once(' ')?;
        Some((name.to_owned(), nanos.parse().ok()?))
    };
    let costs = lines.lines().map(cost).collect::<Option<Costs>>();
    costs.unwrap_or_else(|| panic!("not names and numbers: {lines}"))
}

/// Returns the cost of each operation inside an execution: the cost of a test of `inside`, less
/// the cost of the test without operations.
fn of_executions(workspace: &Workspace, profile: Profile) -> Costs {
    let cost = |test: &str| {
        let explore = |limit: &[&str]| explore(workspace, profile, test, limit);
        let short = explore(&["--time", SHORT, "--schedules", "1000000000"]);
        let executions = format!("{:.0}", short.executions * LONGER);
        let long = explore(&["--schedules", &executions]);
        1e9 / long.beyond(&short).rate()
    };
    let nothing = cost(NOTHING);
    let operations = ROWS
        .iter()
        .flat_map(|row| [Some(row.operation), row.without]);
    operations
        .flatten()
        .map(|operation| (operation.to_owned(), (cost(operation) - nothing) / TIMES))
        .collect()
}

/// Explores `test` within the budget `limit`.
fn explore(workspace: &Workspace, profile: Profile, test: &str, limit: &[&str]) -> Sample {
    let before = time_of_children();
    let json = ["--message-format", "json"];
    let search = ["--exact", test, "--strategy", "random"];
    let more = [&json[..], &search, limit].concat();
    let run = chess(workspace, profile, "inside", &more).run();
    let time = time_of_children().saturating_sub(before);
    run.assert_code(0);
    let verdict = run.verdict();
    let count = |field: &str| verdict[field].as_f64().expect("a number");
    Sample {
        executions: count("executions"),
        points: count("steps"),
        time,
    }
}

/// Returns a call of the tool for the tests in `target`.
fn chess(workspace: &Workspace, profile: Profile, target: &str, more: &[&str]) -> Chess {
    let profile = ["--cargo-profile", profile.name()];
    let fixed = ["chess", "test", "-q", "-p", "costs", "--test", target];
    workspace.chess(&[&fixed, &profile[..], more].concat())
}

/// Returns a call of cargo for the program `outside`.
fn plainly(workspace: &Workspace, profile: Profile, more: &[&str]) -> Chess {
    let profile = ["--profile", profile.name()];
    let fixed = ["test", "-q", "--locked", "-p", "costs", "--test", "outside"];
    Chess::cargo(workspace.root(), &[&fixed, &profile[..], more].concat())
}
