//! The page of `explain --html`: one file that needs nothing else.

mod execution;

use camino::Utf8Path;
use serde::Serialize;

use self::execution::{Execution, Files};
use super::explanation::reasons;
use super::names::Names;
use crate::analysis::Explanation;
use crate::events::Kind;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// In the order in which they build upon each other.
const SCRIPTS: [&str; 4] = [
    include_str!("model.js"),
    include_str!("timeline.js"),
    include_str!("panes.js"),
    include_str!("main.js"),
];

/// The data of the scripts.
#[derive(Serialize)]
struct Data {
    title: String,
    message: String,
    /// The reasons of the failure, with one sentence for each.
    why: Vec<String>,
    files: Vec<execution::File>,
    runs: Vec<Execution>,
}

/// The page that shows an explanation; source files are below `root`.
pub(crate) fn page(root: &Utf8Path, explanation: &Explanation) -> serde_json::Result<String> {
    let finished = &explanation.detail.finished;
    let names = Names::new(&finished.tasks);
    let mut files = Files::new(root);
    let kind = explanation.test.kind.map_or("passes", |kind| kind.name());
    let mut runs = vec![Execution::new(kind.to_owned(), finished, &mut files)];
    // Of a deadlock the reasons say all.
    let message = explanation.test.message.as_ref();
    let message = message.filter(|_| explanation.test.kind != Some(Kind::Deadlock));
    if let Some(passing) = &explanation.passing {
        let name = "nearest one that passes".to_owned();
        let mut run = Execution::new(name, &passing.finished, &mut files);
        // From the last step that both have in common.
        run.start =
            super::explanation::first_difference(finished, &passing.finished).saturating_sub(1);
        runs.push(run);
    }
    let data = Data {
        title: format!("{kind}: {}", explanation.test.id()),
        message: message.cloned().unwrap_or_default(),
        why: reasons(&explanation.test, finished, &names),
        files: files.read(),
        runs,
    };
    Ok(assembled(&serde_json::to_string(&data)?))
}

fn assembled(data: &str) -> String {
    // Each part once, and the data last: they may contain anything.
    PAGE.replacen("{{style}}", STYLE, 1)
        .replacen("{{script}}", &SCRIPTS.join("\n"), 1)
        .replacen("{{data}}", &in_script(data), 1)
}

/// JSON that ends no script element, whatever its strings contain.
fn in_script(json: &str) -> String {
    // Outside of strings JSON has none of these.
    json.replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_does_not_end_the_script() {
        let hostile = "</script><script>alert(1)</script><!-- {{script}} {{data}}";
        let json = serde_json::to_string(hostile).expect("a string");
        let page = assembled(&json);
        assert_eq!(
            page.matches("</script>").count(),
            2,
            "those of the page itself"
        );
        assert!(!page.contains("<!-- "));
        let start = page.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
        let end = start + page[start..].find("</script>").expect("their end");
        let read: String = serde_json::from_str(&page[start..end]).expect("JSON");
        assert_eq!(read, hostile);
    }

    #[test]
    fn the_page_refers_to_nothing_outside_of_it() {
        let page = assembled("{}");
        // This is a name of the SVG language, and no link.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for reference in ["http:", "https:", "src=", "<link", "@import", "fetch("] {
            assert!(!page.contains(reference), "{reference}");
        }
    }
}
