//! The source of a test, with those items of its module that the test uses.
//!
//! The source is read as text, in the form that rustfmt writes. An item ends at the first line
//! that closes a bracket and has the indentation of the item.

use std::collections::BTreeSet;
use std::ops::Range;

/// The keywords before the name of an item.
const KEYWORDS: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "const",
    "static",
    "macro_rules!",
];

/// An item of a module: its lines, with attributes and comments.
struct Item {
    lines: Range<usize>,
    /// The first line that is neither an attribute nor a comment.
    head: String,
}

/// The source of the test `test` (a path without its crate), taken from the text of a source file.
/// The result has the imports, the items that the test uses, and the test itself, in the order of
/// the file and without the indentation of their module. `None` if the file does not contain the
/// name of the test, as the name of a function or elsewhere, for example in the call of a macro.
pub(super) fn test_source(file: &str, test: &str) -> Option<String> {
    let name = test.rsplit("::").next().unwrap_or(test);
    let lines: Vec<&str> = file.lines().collect();
    let defines = |line: &&str| {
        words(line)
            .collect::<Vec<_>>()
            .windows(2)
            .any(|it| it == ["fn", name])
    };
    let names = |line: &&str| words(line).any(|word| word == name);
    let at = lines.iter().position(defines);
    let at = at.or_else(|| lines.iter().position(names))?;
    // If a macro call names the test, the call is at the top level of the file, and the name may
    // be indented.
    let depth = if defines(&lines[at]) {
        indentation(lines[at])
    } else {
        0
    };
    let items = items(&lines, module_around(&lines, at, depth), depth);
    let own = items.iter().position(|it| it.lines.contains(&at))?;
    let chosen = used_by(own, &items, &lines);
    let mut shown = String::new();
    let mut last: Option<usize> = None;
    for item in chosen.into_iter().map(|index| &items[index]) {
        if last.is_some_and(|end| end != item.lines.start) {
            shown.push('\n');
        }
        for line in &lines[item.lines.clone()] {
            shown += line.get(depth.min(indentation(line))..).unwrap_or_default();
            shown.push('\n');
        }
        last = Some(item.lines.end);
    }
    Some(shown)
}

/// The files of the modules that `source` declares, relative to the directory of its own file. For
/// each module, there is a list of possible files. The first one that exists has the module.
pub(super) fn module_files(source: &str) -> Vec<Vec<String>> {
    let mut path: Option<&str> = None;
    let mut files = Vec::new();
    for line in source.lines() {
        let attribute = line.strip_prefix("#[path = \"");
        let declared = line.trim_start_matches("pub ").strip_prefix("mod ");
        if let Some(name) = declared.and_then(|it| it.strip_suffix(';')) {
            files.push(match path {
                Some(path) => vec![path.to_owned()],
                None => vec![format!("{name}.rs"), format!("{name}/mod.rs")],
            });
        }
        path = attribute.and_then(|it| it.strip_suffix("\"]"));
    }
    files
}

/// The lines of the module that contains line `at`. The items of the module have `depth` columns
/// of indentation.
fn module_around(lines: &[&str], at: usize, depth: usize) -> Range<usize> {
    let is_outside = |line: &&str| !line.trim().is_empty() && indentation(line) < depth;
    let start = lines[..at].iter().rposition(is_outside);
    let end = lines[at..].iter().position(is_outside);
    start.map_or(0, |start| start + 1)..end.map_or(lines.len(), |end| at + end)
}

/// The items in `range` with `depth` columns of indentation.
fn items(lines: &[&str], range: Range<usize>, depth: usize) -> Vec<Item> {
    let is_here = |line: &str| !line.trim().is_empty() && indentation(line) == depth;
    let mut items = Vec::new();
    let (mut at, mut begun) = (range.start, None);
    while at < range.end {
        let line = lines[at].trim();
        if !is_here(lines[at]) || line.starts_with("#!") || line.starts_with("//!") {
            // An indented line within an attribute belongs to the attribute. After a blank line, a
            // new item begins.
            if line.is_empty() {
                begun = None;
            }
        } else if line.starts_with('#') || line.starts_with("//") || line.starts_with([')', ']']) {
            begun = begun.or(Some(at));
        } else {
            let start = begun.take().unwrap_or(at);
            let head = line.to_owned();
            let closes =
                |line: &str| is_here(line) && line.trim_start().starts_with(['}', ')', ']']);
            if !is_whole(line) {
                let rest =
                    (at + 1..range.end).find(|&it| closes(lines[it]) && !lines[it].ends_with('{'));
                at = rest.unwrap_or(range.end - 1);
            }
            items.push(Item {
                lines: start..at + 1,
                head,
            });
        }
        at += 1;
    }
    items
}

/// Whether the item that begins with `line` also ends in it.
fn is_whole(line: &str) -> bool {
    let count = |c| line.matches(c).count();
    let is_closed = count('{') == count('}') && count('(') == count(')');
    is_closed && line.ends_with([';', '}'])
}

/// The indices of the item `own`, of the imports, and of the items that these use, directly or
/// through other items.
fn used_by(own: usize, items: &[Item], lines: &[&str]) -> BTreeSet<usize> {
    let mut chosen = BTreeSet::from([own]);
    let is_import = |item: &Item| {
        let head = item.head.trim_start_matches("pub ");
        head.starts_with("use ") || head.starts_with("extern crate ")
    };
    chosen.extend((0..items.len()).filter(|&index| is_import(&items[index])));
    loop {
        let used: BTreeSet<&str> = chosen
            .iter()
            .flat_map(|&index| &lines[items[index].lines.clone()])
            .flat_map(|line| words(line))
            .collect();
        let more: Vec<usize> = (0..items.len())
            .filter(|index| !chosen.contains(index))
            .filter(|&index| {
                names_of(&items[index].head)
                    .iter()
                    .any(|it| used.contains(it))
            })
            .collect();
        if more.is_empty() {
            return chosen;
        }
        chosen.extend(more);
    }
}

/// The name by which other items use an item. For an `impl`, it is the name of its type.
fn names_of(head: &str) -> Vec<&str> {
    let all: Vec<&str> = head.split_whitespace().collect();
    let name = |word: &&'static str| {
        let at = all.iter().position(|it| it == word)?;
        words(all.get(at + 1)?).next()
    };
    if head.starts_with("impl") {
        let of_type = head.split(" where").next().unwrap_or(head);
        let of_type = of_type.rsplit(" for ").next().unwrap_or(of_type);
        let names = words(of_type).filter(|it| *it != "impl");
        return names.take(1).collect();
    }
    if let Some(module) = head.strip_prefix("mod ") {
        return words(module).take(1).collect();
    }
    KEYWORDS.iter().filter_map(name).take(1).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"//! Tests.

#[path = "../polling.rs"]
mod polling;

use polling::block_on;
use std::thread;

const ROUNDS: usize = 2;

/// Not used here.
fn other() {}

struct Unpark(u8);

impl Drop for Unpark {
    fn drop(&mut self) {}
}

fn helper() -> [Unpark; ROUNDS] {
    todo!()
}

/// It is woken.
#[test]
fn is_woken() {
    let _ = block_on(async {});
    helper();
}

#[test]
fn is_not_woken() {}

map!(
    generated,
    Map::new,
);

mod inner {
    use super::*;

    #[test]
    fn nested() {
        match 1 {
            _ => {}
        }
    }

    #[test]
    fn next() {}
}
"#;

    #[test]
    fn a_test_is_shown_with_the_items_that_it_uses() {
        insta::assert_snapshot!(test_source(FILE, "is_woken").expect("it is there"));
    }

    #[test]
    fn declared_modules_have_files() {
        let source = "#[path = \"../polling.rs\"]\nmod polling;\n\nmod common;\n\nmod here {}\n";
        let common = ["common.rs", "common/mod.rs"].map(str::to_owned);
        let polling = "../polling.rs".to_owned();
        assert_eq!(module_files(source), [vec![polling], common.to_vec()]);
    }

    #[test]
    fn an_item_ends_where_the_next_one_begins() {
        let whole = "use polling::block_on;\nuse std::thread;\n\n#[test]\nfn is_not_woken() {}\n";
        let polling = "#[path = \"../polling.rs\"]\nmod polling;\n\n";
        let expected = format!("{polling}{whole}");
        assert_eq!(test_source(FILE, "is_not_woken"), Some(expected));
    }

    #[test]
    fn a_test_in_a_module_loses_the_indentation_of_the_module() {
        insta::assert_snapshot!(test_source(FILE, "inner::nested").expect("it is there"));
    }

    #[test]
    fn a_test_that_a_macro_defines_is_the_call_of_the_macro() {
        let shown = test_source(FILE, "generated").expect("it is there");
        assert!(
            shown.ends_with("\nmap!(\n    generated,\n    Map::new,\n);\n"),
            "{shown}"
        );
        assert_eq!(test_source(FILE, "absent"), None);
    }
}
