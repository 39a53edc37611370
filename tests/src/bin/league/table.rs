//! The league as text: a row for each program, and a column for each own or published strategy.

use crate::programs::{COLUMNS, Program};
use crate::results::{Results, Score, Total};

/// The explanation of the cells.
const LEGEND: &str = "\
The mean number of schedules to the first failure; with /N, only N of the trials
found it; -, none did. On the right, what is published on the originals, with 20
trials each.";

/// The width of the names. It fits the longest name of a program.
const NAME: usize = 28;
const CELL: usize = 12;

/// The whole table.
pub(crate) fn table(programs: &[Program], results: &[Results]) -> String {
    let ours = results.iter().map(|results| results.strategy.clone());
    let mut lines = vec![
        LEGEND.to_owned(),
        String::new(),
        row("program", ours, COLUMNS.map(str::to_owned).into_iter()),
    ];
    for (number, program) in programs.iter().enumerate() {
        let ours = results.iter().map(|results| cell(results.score(number)));
        let published = program.published.iter();
        let published = published.map(|one| cell(one.map(Score::from)));
        lines.push(row(&program.name, ours, published));
    }
    let all = 0..programs.len();
    let ours = results
        .iter()
        .map(|results| total(Total::of(all.clone().map(|number| results.score(number)))));
    let published = (0..COLUMNS.len()).map(|column| total(published_total(programs, column)));
    lines.push(row("bugs found in a trial", ours, published));
    lines.join("\n")
}

/// Returns a comparison of each published column with the strategies of this tool. The comparison
/// with a column includes only the programs of this column.
pub(crate) fn comparison(programs: &[Program], results: &[Results]) -> String {
    let compare = |(column, name): (usize, &&str)| {
        let published = published_total(programs, column);
        let ours = results.iter().map(|results| {
            let mean = our_total(programs, results, column).mean;
            format!("{} {mean:.1}", results.strategy)
        });
        format!(
            "on the {} programs that {name} was tried on: {name} {:.1} bugs in a trial; {}",
            published.programs,
            published.mean,
            ours.collect::<Vec<_>>().join(", "),
        )
    };
    let lines: Vec<_> = COLUMNS.iter().enumerate().map(compare).collect();
    lines.join("\n")
}

/// Returns the published columns whose strategies find more bugs than `results`. The comparison
/// with a column includes only the programs of this column.
pub(crate) fn ahead_of<'a>(
    programs: &'a [Program],
    results: &'a Results,
) -> impl Iterator<Item = &'static str> + 'a {
    let columns = COLUMNS.into_iter().enumerate();
    columns.filter_map(move |(column, name)| {
        let theirs = published_total(programs, column).mean;
        (theirs > our_total(programs, results, column).mean + 1e-9).then_some(name)
    })
}

fn published_total(programs: &[Program], column: usize) -> Total {
    let published = programs.iter().map(|program| program.published[column]);
    Total::of(published.map(|one| one.map(Score::from)))
}

/// Returns the total of `results` over the programs for which the published column has a result.
fn our_total(programs: &[Program], results: &Results, column: usize) -> Total {
    let tried = |program: &Program| program.published[column].is_some();
    let common = programs.iter().enumerate().filter(|(_, one)| tried(one));
    Total::of(common.map(|(number, _)| results.score(number)))
}

fn row(
    name: &str,
    ours: impl Iterator<Item = String>,
    published: impl Iterator<Item = String>,
) -> String {
    let cells = |cells: Vec<String>| -> String {
        let padded: Vec<_> = cells.iter().map(|cell| format!("{cell:>CELL$}")).collect();
        padded.concat()
    };
    let (ours, published) = (cells(ours.collect()), cells(published.collect()));
    format!("{name:<NAME$}{ours}  |{published}")
        .trim_end()
        .to_owned()
}

fn cell(score: Option<Score>) -> String {
    match score {
        None => String::new(),
        Some(Score { found: 0, .. }) => "-".to_owned(),
        Some(score) if score.found == score.trials => score.schedules.to_string(),
        Some(score) => format!("{}/{}", score.schedules, score.found),
    }
}

fn total(total: Total) -> String {
    format!("{:.1} of {}", total.mean, total.programs)
}
