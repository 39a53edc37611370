//! The names of a package's mutable statics. `borrows/place.rs` finds the
//! references to them. The compiler instruments plain loads and stores
//! (`wrapper/instrument_accesses.rs` of the tool).

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use crate::source::{Source, SyntaxError};

/// The names of the mutable statics of a package. A mutable static is raw memory that code can use
/// without a pointer.
///
/// The declarations are searched in tokens, so that declarations in macros are also found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MutableStatics(BTreeSet<String>);

impl MutableStatics {
    /// Adds the mutable statics that a file of the package declares.
    ///
    /// # Errors
    ///
    /// If the text does not consist of Rust's tokens.
    pub fn add(&mut self, text: &str) -> Result<(), SyntaxError> {
        if text.contains("static mut") {
            self.scan(Source::new(text).tokens()?);
        }
        Ok(())
    }

    pub(crate) fn contain(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "static" => {
                    if let [TokenTree::Ident(mutable), TokenTree::Ident(name), ..] =
                        &tokens[index + 1..]
                        && mutable == "mut"
                    {
                        self.0.insert(name.to_string());
                    }
                }
                TokenTree::Group(group) => self.scan(group.stream()),
                _ => {}
            }
        }
    }
}
