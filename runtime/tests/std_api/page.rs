//! An item's page as rustdoc writes it, and what it declares.

use std::fs;
use std::path::Path;

use crate::signature::{self, plain};

pub(crate) struct Page {
    html: String,
}

/// A method, an associated constant or a trait implementation.
pub(crate) struct Member {
    kind: Kind,
    stable: bool,
    /// The page says since which version it is there.
    dated: bool,
    code: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The item itself: a function's signature, a type's declaration.
    Item,
    Method,
    TraitImpl,
    AutoTraitImpl,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Option<Page> {
        let mut html = fs::read_to_string(path).ok()?;
        // What every type has says nothing of this one.
        if let Some(blanket) = html.find("id=\"blanket-implementations\"") {
            html.truncate(blanket);
        }
        Some(Page { html })
    }

    pub(crate) fn is_stable(&self) -> bool {
        !self.head().contains("stab unstable")
    }

    /// Whether std declares the item: its source is not in this crate.
    pub(crate) fn is_of_std(&self) -> bool {
        let heading = between(&self.html, "<div class=\"main-heading\">", "item-decl").unwrap_or("");
        !heading.contains("src/chess_runtime/")
    }

    /// The declaration and what is said of it before the description.
    fn head(&self) -> &str {
        let start = self.html.find("item-decl").unwrap_or(0);
        let rest = &self.html[start..];
        let end = ["<details class=\"toggle top-doc\"", "<h2 id="]
            .iter()
            .filter_map(|mark| rest.find(mark))
            .min()
            .unwrap_or(rest.len());
        &rest[..end]
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = Member> {
        let declaration = between(self.head(), "<code>", "</code>").map(plain);
        let item = declaration.filter(|code| signature::is_callable(code)).map(|code| Member {
            kind: Kind::Item,
            stable: true,
            dated: true,
            code,
        });
        let auto = self.html.find("id=\"synthetic-implementations\"").unwrap_or(self.html.len());
        let sections = self.html.match_indices("<section id=\"").filter_map(move |(start, _)| {
            let rest = &self.html[start..];
            let section = between(rest, "<section ", "</section>")?;
            let class = between(section, "class=\"", "\"")?;
            let kind = match class {
                "method" | "associatedconstant" => Kind::Method,
                "impl" if start > auto => Kind::AutoTraitImpl,
                "impl" => Kind::TraitImpl,
                _ => return None,
            };
            let code = plain(between(section, "class=\"code-header\">", "</h")?);
            if kind == Kind::TraitImpl && !signature::names_a_trait(&code) {
                return None;
            }
            let after = &rest[section.len()..];
            let after = &after["<section ".len()..];
            let end = ["<section ", "</summary>"].iter().filter_map(|mark| after.find(mark)).min();
            Some(Member {
                kind,
                stable: !after[..end.unwrap_or(after.len())].contains("stab unstable"),
                dated: section.contains("class=\"since\""),
                code,
            })
        });
        item.into_iter().chain(sections)
    }
}

impl Member {
    /// Whether stable code may rely on it. The implementations of unstable
    /// traits bear no version, nor do those that the compiler finds.
    pub(crate) fn is_promised(&self) -> bool {
        self.stable
            && match self.kind {
                Kind::Item | Kind::Method => true,
                Kind::TraitImpl => self.dated,
                Kind::AutoTraitImpl => signature::is_of_stable_auto_trait(&self.code),
            }
    }

    pub(crate) fn normalised(&self) -> String {
        signature::normalise(&self.code)
    }
}

/// The text between the first `start` and the next `end`.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let from = text.find(start)? + start.len();
    let length = text[from..].find(end)?;
    Some(&text[from..from + length])
}
