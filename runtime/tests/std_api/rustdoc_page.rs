//! The page of an item as rustdoc writes it, and the declarations on it.

use std::fs;
use std::path::Path;

use crate::signature::{Signature, plain};

pub(crate) struct Page {
    html: String,
}

/// A declaration on a page: a function, a method or a trait implementation.
pub(crate) struct Member {
    kind: Kind,
    stable: bool,
    /// Whether the page has the version since which the member is stable.
    dated: bool,
    /// Whether the page says that it is for Windows. std documents types of Windows on all systems.
    foreign: bool,
    signature: Signature,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The item of the page, if it is a function.
    Item,
    Method,
    TraitImpl,
    AutoTraitImpl,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Option<Page> {
        let mut html = fs::read_to_string(path).ok()?;
        // Blanket implementations, which every type has, are left out.
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
        let heading =
            between(&self.html, "<div class=\"main-heading\">", "item-decl").unwrap_or("");
        !heading.contains("src/chess_runtime/")
    }

    /// Returns the declaration and the notes before the description.
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

    pub(crate) fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        let declaration = between(self.head(), "<code>", "</code>").map(plain);
        if let Some(declaration) = declaration.filter(|code| code.contains("fn ")) {
            let signature = Signature::parse(&declaration);
            members.push(Member {
                kind: Kind::Item,
                stable: true,
                dated: true,
                foreign: false,
                signature,
            });
        }
        let auto = self
            .html
            .find("id=\"synthetic-implementations\"")
            .unwrap_or(self.html.len());
        let mut implementation = None;
        for (start, _) in self.html.match_indices("<section id=\"") {
            let rest = &self.html[start..];
            let Some((section, after)) = rest.split_once("</section>") else {
                continue;
            };
            let class = between(section, " class=\"", "\"").unwrap_or("");
            let Some(code) = between(section, "class=\"code-header\">", "</h") else {
                continue;
            };
            let mut signature = Signature::parse(&plain(code));
            let kind = match class.trim_end_matches(" deprecated") {
                "impl" if !signature.implements_a_trait() => {
                    implementation = Some(signature);
                    continue;
                }
                "impl" if start > auto => Kind::AutoTraitImpl,
                "impl" => Kind::TraitImpl,
                "method" => {
                    if let Some(implementation) = &implementation {
                        signature = signature.within(implementation);
                    }
                    Kind::Method
                }
                _ => continue,
            };
            let end = ["<section ", "</summary>"]
                .iter()
                .filter_map(|mark| after.find(mark))
                .min();
            let remarks = &after[..end.unwrap_or(after.len())];
            members.push(Member {
                kind,
                stable: !remarks.contains("stab unstable"),
                dated: section.contains("class=\"since\""),
                foreign: section.contains("<strong>Windows</strong>"),
                signature,
            });
        }
        members
    }
}

impl Member {
    /// Whether stable code may rely on the member. The implementations of
    /// unstable traits have no version, nor do those that the compiler derives
    /// for auto traits. `Drop` implementations are an internal detail.
    pub(crate) fn is_promised(&self) -> bool {
        let auto = ["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];
        self.stable
            && !self.foreign
            && match self.kind {
                Kind::Item | Kind::Method => true,
                Kind::TraitImpl => self.dated && !self.signature.implements(&["Drop"]),
                Kind::AutoTraitImpl => self.signature.implements(&auto),
            }
    }

    pub(crate) fn normalised(&self) -> String {
        self.signature.normalised()
    }
}

/// Returns the text between the first `start` and the next `end`.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let from = text.find(start)? + start.len();
    let length = text[from..].find(end)?;
    Some(&text[from..from + length])
}
