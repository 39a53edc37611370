//! The page of `explain --html`: one file that loads no other files.

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
/// The scripts of the page. A script may use the scripts before it.
const SCRIPTS: [&str; 7] = [
    include_str!("model.js"),
    include_str!("timeline.js"),
    include_str!("panes.js"),
    include_str!("steps.js"),
    include_str!("theme.js"),
    include_str!("controls.js"),
    include_str!("main.js"),
];

/// The data that the scripts show.
#[derive(Serialize)]
struct Data {
    title: String,
    message: String,
    /// The sentences about the cause of the failure.
    why: Vec<String>,
    files: Vec<execution::File>,
    runs: Vec<Execution>,
}

/// The page that shows an explanation. The source files are below `root`.
pub(crate) fn page(root: &Utf8Path, explanation: &Explanation) -> serde_json::Result<String> {
    let finished = &explanation.detail.finished;
    let names = Names::new(&finished.tasks);
    let mut files = Files::new(root);
    let kind = explanation.test.kind.map_or("passes", |kind| kind.name());
    let mut runs = vec![Execution::new(kind.to_owned(), finished, &mut files)];
    // For a deadlock, `why` has the content of the message.
    let message = explanation.test.message.as_ref();
    let message = message.filter(|_| explanation.test.kind != Some(Kind::Deadlock));
    if let Some(passing) = &explanation.passing {
        let name = "nearest one that passes".to_owned();
        let mut run = Execution::new(name, &passing.finished, &mut files);
        // The page begins at the last step that both executions have in common.
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
    // The data are inserted last: they may contain the text of a placeholder.
    PAGE.replacen("{{style}}", STYLE, 1)
        .replacen("{{script}}", &SCRIPTS.join("\n"), 1)
        .replacen("{{data}}", &in_script(data), 1)
}

/// JSON in a form that can never end a script element.
fn in_script(json: &str) -> String {
    // In JSON, these characters occur only in strings.
    json.replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_program_does_not_end_the_script() {
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
        // This is a namespace of SVG, and not a link.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for reference in ["http:", "https:", "src=", "<link", "@import", "fetch("] {
            assert!(!page.contains(reference), "{reference}");
        }
    }
}
