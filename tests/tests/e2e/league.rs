//! `cargo league` prints the bugs that each strategy finds, next to published results.

use end_to_end::program;

#[test]
fn the_league_shows_the_bugs_that_a_strategy_finds_beside_published_numbers() {
    let output = program(env!("CARGO_BIN_EXE_league"))
        .args(["--strategy=icb", "--strategy=random", "--seeds=2"])
        .args([
            "--schedules=2000",
            "--safestack=0",
            "reorder_3",
            "deadlock01",
        ])
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let row = |name: &str| -> Vec<&str> {
        let row = said.lines().find(|line| line.starts_with(name));
        let row = row.unwrap_or_else(|| panic!("no row for {name}: {said}"));
        row[name.len()..].split_whitespace().collect()
    };
    // The columns are two strategies of the tool, and then the published SURW, PCT-3, PCT-10, POS,
    // random walk and RFF.
    let reorder = row("cs reorder_3 ");
    assert!(reorder[..2].iter().all(|cell| *cell != "-"), "{said}");
    assert_eq!(
        reorder[2..],
        ["|", "7", "185", "148", "86", "-", "7"],
        "{said}"
    );
    assert_eq!(
        row("bugs found in a trial")[..3],
        ["2.0", "of", "2"],
        "{said}"
    );
    let compared = "the 2 programs that PCT-3 was tried on: PCT-3 2.0 bugs in a trial; icb 2.0";
    assert!(said.contains(compared), "{said}");
}
