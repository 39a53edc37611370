//! The test code of a file: its test functions, and the items that only tests contain.

use std::ops::RangeInclusive;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};

use crate::source::{Source, SyntaxError};

/// The test code of a file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TestCode {
    /// The lines, from 1, of the items that only tests contain.
    pub lines: Vec<RangeInclusive<usize>>,
    /// The test modules that have files of their own, by their paths from the module of this file.
    pub modules: Vec<Vec<String>>,
}

impl TestCode {
    /// Returns the test code of a file with this `text`: functions, modules, `impl` blocks,
    /// traits, statics and macros that have an attribute whose name ends in `test`,
    /// `#[cfg(test)]`, or another `cfg` that requires `test`.
    ///
    /// # Errors
    /// If the text is not Rust.
    pub fn of(text: &str) -> Result<Self, SyntaxError> {
        if !text.contains("test") {
            return Ok(Self::default());
        }
        let source = Source::new(text);
        let file = source.parse()?;
        let mut visitor = Visitor {
            source: &source,
            path: Vec::new(),
            found: Self::default(),
        };
        visitor.visit_file(&file);
        Ok(visitor.found)
    }
}

struct Visitor<'a> {
    source: &'a Source<'a>,
    /// The inline modules around the visited item.
    path: Vec<String>,
    found: TestCode,
}

impl Visitor<'_> {
    fn add(&mut self, span: proc_macro2::Span) {
        let lines = self.source.line_of(span.start())..=self.source.line_of(span.end());
        self.found.lines.push(lines);
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_test) {
            self.add(item.span());
            if let Item::Mod(module) = item
                && module.content.is_none()
            {
                let mut path = self.path.clone();
                path.push(module.ident.to_string());
                self.found.modules.push(path);
            }
            return;
        }
        if let Item::Mod(module) = item {
            self.path.push(module.ident.to_string());
            visit::visit_item(self, item);
            self.path.pop();
        } else {
            visit::visit_item(self, item);
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        _ => &[],
    }
}

/// Whether an item with this attribute exists for tests only.
fn is_test(attribute: &Attribute) -> bool {
    let path = attribute.path();
    match &attribute.meta {
        Meta::List(list) if path.is_ident("cfg") => requires_test(list.tokens.clone()),
        // `#[test]`, `#[tokio::test]` and similar attributes.
        _ => {
            let last = path.segments.last();
            last.is_some_and(|it| it.ident.to_string().ends_with("test"))
        }
    }
}

/// Whether the condition of a `cfg` holds only if `test` is set: it is `test`, or an `all` that
/// has such a condition.
fn requires_test(condition: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = condition.into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(word)] => word == "test",
        [TokenTree::Ident(word), TokenTree::Group(parts)] if word == "all" => {
            let parts: Vec<TokenTree> = parts.stream().into_iter().collect();
            let is_comma =
                |it: &TokenTree| matches!(it, TokenTree::Punct(it) if it.as_char() == ',');
            let mut parts = parts.split(is_comma);
            parts.any(|part| requires_test(part.iter().cloned().collect()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_code_is_found_by_its_attributes() {
        let text = "fn product() {}
#[cfg(test)]
mod tests {
    fn helper() {}
}
#[cfg(not(test))]
fn product_without_tests() {}
mod inner {
    #[cfg(all(test, unix))]
    mod far;
    #[tokio::test]
    async fn works() {
    }
    #[cfg(any(test, feature = \"x\"))]
    fn both() {}
    fn product() {
        #[test]
        fn nested() {}
    }
}
";
        let found = TestCode::of(text).expect("it is Rust");
        assert_eq!(found.lines, [2..=5, 9..=10, 11..=13, 17..=18]);
        assert_eq!(found.modules, [["inner", "far"]]);
        assert!(TestCode::of("test fn").is_err());
    }
}
