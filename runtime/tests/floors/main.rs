//! The floors of the runtime: a file uses only definitions of its own floor or of floors below.
//!
//! The tests read imports and paths from the text of the sources. Code for tests is left out.

mod imports;

use std::collections::BTreeSet;
use std::path::Path;

use imports::{Sources, texts};

/// The floors, the lowest one first. Each has folders of `src`. `search` is a separate crate, which
/// also contains the part of `base` that it needs.
const FLOORS: &[&[&str]] = &[
    &["base"],
    &["platform"],
    &["search"],
    &["memory"],
    &["execution"],
    &["monitor"],
    &["shim", "interpose"],
    &["harness"],
];

/// Files, each with the folder or file of a higher floor that it uses.
type Uses = &'static [(&'static str, &'static str)];

/// The calls of the monitors' hooks are static, so that a hook without an implementation costs
/// nothing. For this, the file with these calls names the structure of all monitors.
const MONITORS: Uses = &[("execution/monitor_calls.rs", "monitor")];

/// The remaining uses of a higher floor, with the reason above each list. A use that no longer
/// exists must be removed from the list.
const EXCEPTIONS: &[Uses] = &[MONITORS];

/// The largest permitted cycle of imports, in files. A type and its helpers may use each other.
const SMALL: usize = 3;

/// The sources of the runtime and of its search, as if they were one crate.
fn runtime() -> Sources {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = texts(&runtime.join("src"));
    for (path, text) in texts(&runtime.join("search/src")) {
        let path = match path.strip_prefix("base/") {
            Some(path) => format!("base/shared/{path}"),
            None => format!("search/{}", path.replace("lib.rs", "mod.rs")),
        };
        let text = text.replace("crate::", "crate::search::");
        all.insert(
            path,
            text.replace("crate::search::base", "crate::base::shared"),
        );
    }
    Sources::of(&all)
}

/// The folder of a file, or its own name if it is in no folder.
fn folder(path: &str) -> &str {
    let end = path.find('/').or_else(|| path.find('.'));
    &path[..end.unwrap_or(path.len())]
}

fn floor(path: &str) -> Option<usize> {
    FLOORS.iter().position(|it| it.contains(&folder(path)))
}

/// Uses of a higher floor: the file, and the folder of the higher floor.
fn upward(sources: &Sources) -> BTreeSet<(String, String)> {
    let pairs = sources.upward(floor).into_iter();
    pairs
        .map(|(file, other)| (file.to_owned(), folder(other).to_owned()))
        .collect()
}

#[test]
fn no_file_uses_a_higher_floor_but_for_the_exceptions() {
    let sources = runtime();
    assert!(sources.count() > 200, "only {} files", sources.count());
    let upward = upward(&sources);
    let named = |file: &str, above: &str| (file.to_owned(), above.to_owned());
    let exceptions = EXCEPTIONS.iter().copied().flatten();
    let allowed: BTreeSet<_> = exceptions.map(|it| named(it.0, it.1)).collect();
    let list = |edges: Vec<&(String, String)>| {
        let lines = edges
            .iter()
            .map(|(file, above)| format!("{file} uses {above}\n"));
        lines.collect::<String>()
    };
    let new = list(upward.difference(&allowed).collect());
    assert!(
        new.is_empty(),
        "a file may use its own floor and those below it. These use a floor above:\n{new}\
         Move the definition down, or call it through a hook (CONTRIBUTING.md, \"Floors\")"
    );
    let gone = list(allowed.difference(&upward).collect());
    assert!(gone.is_empty(), "take these out of EXCEPTIONS:\n{gone}");
}

#[test]
fn cycles_of_imports_are_small() {
    let cycles = runtime().cycles(SMALL);
    assert!(
        cycles.is_empty(),
        "cycles of more than {SMALL} files: {cycles:#?}\n\
         Move what they share into a file that knows none of them"
    );
}

#[test]
fn every_file_is_on_a_floor() {
    let sources = runtime();
    let files = sources.imports();
    let without = files.keys().filter(|it| floor(it).is_none());
    assert_eq!(without.collect::<Vec<_>>(), [&"lib.rs"]);
}

#[test]
fn the_search_is_read_with_the_runtime() {
    let sources = runtime();
    let uses = sources.uses();
    assert!(uses["search/icb/mod.rs"].contains("base/shared/memory.rs"));
    assert!(uses["search/pct.rs"].contains("search/sampler.rs"));
    assert!(!uses.keys().any(|path| path.starts_with("search/testing")));
}

#[test]
fn each_way_to_name_a_higher_floor_is_seen() {
    let ways = [
        "use crate::monitor::Kind;",
        "use crate::{base::Word, monitor::{self as watched, Kind}}; fn f() { watched::f() }",
        "fn f() { crate::monitor::f() }",
        "use super::monitor; fn f() { monitor::f() }",
        "fn f() -> super::super::monitor::Kind { todo!() }",
        "macro_rules! m { () => { $crate::monitor::f() } }",
        "pub(crate) use crate::monitor::Kind;",
        "const QUOTE: char = '\"'; use crate::monitor::Kind; const OTHER: char = '\"';",
        "const SLASHES: &str = \"//\"; use crate::monitor::Kind;",
    ];
    for (number, text) in ways.into_iter().enumerate() {
        let text = text.replace("use super::monitor", "use super::super::monitor");
        let sources = Sources::tree(&[("base/word.rs", &text), ("monitor/mod.rs", "")]);
        let found = upward(&sources);
        let wanted = ("base/word.rs".to_owned(), "monitor".to_owned());
        assert!(found.contains(&wanted), "{number}: {text}");
    }
}

#[test]
fn comments_strings_tests_and_lower_floors_are_no_fault() {
    let allowed = [
        "// use crate::monitor::Kind;",
        "/* crate::monitor::f() */",
        "const TEXT: &str = \"crate::monitor::f()\";",
        "const TEXT: &str = r#\"a \" crate::monitor::f()\"#;",
        "#[cfg(test)] mod tests { use crate::monitor::Kind; }",
        "use crate::base::Word; fn f<'a>(_: &'a str) {}",
        "use std::monitor::Kind;",
    ];
    for text in allowed {
        let files = [
            ("platform/x.rs", text),
            ("base/mod.rs", ""),
            ("monitor/mod.rs", ""),
        ];
        assert!(upward(&Sources::tree(&files)).is_empty(), "{text}");
    }
}

#[test]
fn a_reexported_item_counts_where_it_is_defined() {
    let sources = Sources::tree(&[
        (
            "base/mod.rs",
            "mod a; mod b; pub(crate) use a::A; pub(crate) use b::B;",
        ),
        ("base/a.rs", "use super::B; struct A;"),
        ("base/b.rs", "struct B;"),
    ]);
    assert_eq!(sources.uses()["base/a.rs"], BTreeSet::from(["base/b.rs"]));
    assert!(sources.uses()["base/mod.rs"].is_empty());
}

#[test]
fn a_cycle_is_found_with_all_its_files() {
    let next = |name: &str| format!("use super::{name}; fn f() {{ {name}::f() }}");
    let texts = ["b", "c", "d", "a"].map(next);
    let names = ["base/a.rs", "base/b.rs", "base/c.rs", "base/d.rs"];
    let files: Vec<(&str, &str)> = names
        .into_iter()
        .zip(texts.iter().map(String::as_str))
        .collect();
    assert_eq!(
        Sources::tree(&files).cycles(SMALL),
        [names.map(str::to_owned).to_vec()]
    );
    assert!(Sources::tree(&files[..3]).cycles(SMALL).is_empty());
}
