//! The table of happens-before edges: each row of `fixtures/happens_before` has its expected
//! verdict.

use std::collections::BTreeMap;

use end_to_end::Workspace;

/// The smallest expected number of rows.
const ROWS: usize = 220;

#[test]
fn each_operation_orders_what_std_says_and_no_more() {
    let workspace = Workspace::shared("happens_before");
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    // Rows about timeouts need timeouts to end early.
    let run = workspace.chess(&args).arg("--timers=any").run();
    run.assert_code(100);
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::new();
    for verdict in run.verdicts() {
        let name = verdict["test"].as_str().unwrap_or_default();
        let (_, claim) = name.rsplit_once("::").unwrap_or_default();
        let expected = match claim {
            "ordered" => "passed",
            "races" => "failed race",
            "is_reached" => "failed panic",
            other => panic!("{name} claims {other}"),
        };
        *counts.entry(claim.to_owned()).or_insert(0) += 1;
        let words = [&verdict["outcome"], &verdict["kind"]];
        let words: Vec<_> = words.iter().filter_map(|word| word.as_str()).collect();
        if words.join(" ") != expected {
            let message = &verdict["message"];
            wrong.push(format!("{name}: {} {message}", words.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), run.stderr);
    assert_eq!(counts["ordered"], counts["is_reached"]);
    let rows = counts["ordered"] + counts["races"];
    assert!(rows >= ROWS, "{rows} rows");
}
