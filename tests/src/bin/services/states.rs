//! The growth of the number of states: by strategy, and for plain runs.

use std::collections::HashSet;

use end_to_end::Workspace;

use crate::plain::Plain;

/// The strategies, in the order of the rows.
pub(crate) const STRATEGIES: [&str; 8] = [
    "auto", "pos", "surw", "random", "pct", "delay", "icb", "dpor",
];

const BINARY: &str = "memcached::states";
const TEST: &str = "of_three_clients";

/// The strategies that have the same schedules with each seed.
const WITHOUT_SEED: [&str; 3] = ["delay", "icb", "dpor"];

/// The number of distinct states after 1, 2, 4, 8, ... executions.
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Pairs of the number of executions and the number of states.
    pub(crate) points: Vec<(u64, u64)>,
}

/// The curves of the strategies in `only` (of all strategies if it is empty), each the mean of
/// this number of seeds, and the curve of plain runs.
pub(crate) fn curves(
    workspace: &Workspace,
    plain: &Plain,
    only: &[String],
    schedules: u64,
    seeds: u64,
) -> Vec<Curve> {
    let is_selected = |name: &&str| only.is_empty() || only.iter().any(|it| it == name);
    let strategies = STRATEGIES.into_iter().filter(is_selected);
    let mut curves: Vec<_> = strategies
        .map(|name| {
            let seeds = if WITHOUT_SEED.contains(&name) {
                1
            } else {
                seeds
            };
            let run = |seed| of_strategy(workspace, name, schedules, seed);
            let curves = (1..=seeds).map(run).collect();
            Curve {
                name: name.to_owned(),
                points: mean(curves),
            }
        })
        .collect();
    curves.push(of_plain_runs(plain, schedules));
    curves
}

/// The means of the curves of several seeds, rounded. There must be at least one curve.
fn mean(curves: Vec<Vec<(u64, u64)>>) -> Vec<(u64, u64)> {
    let count = u64::try_from(curves.len()).expect("a count");
    let sum = curves.into_iter().reduce(|mut sum, curve| {
        for (sum, (at, states)) in sum.iter_mut().zip(curve) {
            assert_eq!(sum.0, at);
            sum.1 += states;
        }
        sum
    });
    let sum = sum.expect("a curve");
    let mean = |(at, states)| (at, (states + count / 2) / count);
    sum.into_iter().map(mean).collect()
}

/// The curve of one run, as pairs of the number of executions and the number of states.
fn of_strategy(workspace: &Workspace, name: &str, schedules: u64, seed: u64) -> Vec<(u64, u64)> {
    let (schedules, seed) = (schedules.to_string(), seed.to_string());
    let what = ["test", "--locked", "-p", "memcached", "--test", "states"];
    let how = [
        "--strategy",
        name,
        "--schedules",
        &schedules,
        "--seed",
        &seed,
        "--message-format",
        "json",
    ];
    let run = workspace.chess(&[&what[..], &how].concat()).run();
    run.assert_code(0);
    let covered = &run.verdict()["covered"];
    let growth = covered["growth"]
        .as_array()
        .expect("the test observes")
        .iter();
    let points = growth.map(|it| {
        let number = |key: &str| it[key].as_u64().expect("a number");
        (number("schedules"), number("states"))
    });
    points.collect()
}

fn of_plain_runs(plain: &Plain, runs: u64) -> Curve {
    let (mut states, mut points) = (HashSet::new(), Vec::new());
    for run in 1..=runs {
        states.insert(plain.state(BINARY, TEST));
        if run.is_power_of_two() || run == runs {
            points.push((run, u64::try_from(states.len()).expect("a count")));
        }
    }
    Curve {
        name: "plain runs".to_owned(),
        points,
    }
}

/// A row for each curve, with a column for each power of four, from 16.
pub(crate) fn table(curves: &[Curve]) -> String {
    let most = curves
        .iter()
        .flat_map(|it| &it.points)
        .map(|&(at, _)| at)
        .max();
    let columns: Vec<u64> = (2..16)
        .map(|power| 4_u64.pow(power))
        .take_while(|&at| Some(at) <= most)
        .collect();
    let row = |name: &str, cells: Vec<String>| {
        let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:>8}")).collect();
        format!("{name:<12}{}", cells.concat())
    };
    let header = columns.iter().map(u64::to_string).collect();
    let mut lines = vec![
        "The number of distinct states after this number of executions:".to_owned(),
        row("", header),
    ];
    for curve in curves {
        let at = |column: &u64| {
            let before = curve.points.iter().rfind(|(at, _)| at <= column);
            before.map_or(0, |&(_, states)| states).to_string()
        };
        lines.push(row(&curve.name, columns.iter().map(at).collect()));
    }
    lines.join("\n")
}
