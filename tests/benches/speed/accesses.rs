//! The cost of reporting accesses to plain memory: in executions and in memory.

use end_to_end::{Chess, Workspace};

use crate::processor::time_of_children;
use crate::sample::{Profile, Sample, Spread};

/// The tests of `fixtures/benchmarks/accesses` with a thousand accesses per execution.
const TESTS: [&str; 2] = ["few_places", "many_places"];
/// The test that accesses a large memory, and the size of that memory in MiB.
const MUCH: &str = "much";
const BYTES: f64 = 32.0;

/// The numbers of executions of the shorter and of the longer exploration of a sample.
const SHORT: u64 = 5_000;
const LONG: u64 = 205_000;

/// The smallest fraction of the rate of executions that must remain.
const PART: f64 = 0.5;

/// Prints both.
pub(crate) fn print(workspace: &Workspace, rounds: usize) {
    println!(
        "\nA test with 1,000 plain accesses, strategy random: executions per second where \
         nobody hears of them, and where they are told of\n\n\
         {:<14}{:>10}{:>10}{:>10}{:>10}{:>18}",
        "", "profile", "untold", "told", "part", "(of each round)"
    );
    for profile in [Profile::Release, Profile::Dev] {
        for test in TESTS {
            for binary in ["untold", "told"] {
                explore(workspace, profile, binary, test, 1)
                    .run()
                    .assert_code(0);
            }
            let rates = |binary: &str| {
                let [short, long] =
                    [SHORT, LONG].map(|count| sample(workspace, profile, binary, test, count));
                long.beyond(&short).rate()
            };
            let (mut untold, mut told) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                untold.push(rates("untold"));
                told.push(rates("told"));
            }
            row(test, profile, &untold, &told);
        }
    }
    let [untold, told] = ["untold", "told"].map(|binary| memory(workspace, binary));
    println!(
        "\nMemory for each byte that is tracked, of {BYTES} MiB written by two tasks: {:.1} bytes",
        (told - untold) / BYTES
    );
}

fn row(test: &str, profile: Profile, untold: &[f64], told: &[f64]) {
    let pairs = untold.iter().zip(told).map(|(untold, told)| told / untold);
    let spreads = (
        Spread::of(pairs),
        Spread::of(untold.to_vec()),
        Spread::of(told.to_vec()),
    );
    let (Some(each), Some(untold), Some(told)) = spreads else {
        return;
    };
    let met = if each.median >= PART { "met" } else { "missed" };
    println!(
        "{test:<14}{:>10}{:>10.0}{:>10.0}{:>10.2}{:>18}  {PART} is asked for: {met}",
        profile.name(),
        untold.median,
        told.median,
        each.median,
        format!("{:.2} to {:.2}", each.least, each.greatest),
    );
}

fn sample(
    workspace: &Workspace,
    profile: Profile,
    binary: &str,
    test: &str,
    schedules: u64,
) -> Sample {
    let before = time_of_children();
    let run = explore(workspace, profile, binary, test, schedules).run();
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

/// Returns the memory of one execution of the test with a large memory, in MiB.
fn memory(workspace: &Workspace, binary: &str) -> f64 {
    let mut process = explore(workspace, Profile::Release, binary, MUCH, 2).start();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = process.peak_memory() as f64;
    bytes / f64::from(1 << 20)
}

fn explore(
    workspace: &Workspace,
    profile: Profile,
    binary: &str,
    test: &str,
    schedules: u64,
) -> Chess {
    let fixed = ["chess", "test", "-q", "--message-format", "json"];
    let which = ["-p", "accesses", "--test", binary, "--exact", test];
    let search = ["--strategy", "random", "--jobs", "1", "--schedules"];
    workspace
        .chess(&[&fixed[..], &which, &search].concat())
        .arg(schedules.to_string())
        .arg("--cargo-profile")
        .arg(profile.name())
}
