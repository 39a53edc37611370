//! Statements at the start of named functions.

use std::borrow::Cow;

use syn::visit::{self, Visit};
use syn::{Attribute, Block, File, ImplItemFn, ItemFn, ItemImpl, ItemTrait, TraitItemFn, Type};

use crate::edit::Edit;
use crate::extent;
use crate::source::Source;
use crate::visitor::runs_only_at_run_time;

/// A statement for the start of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntrySplice<'a> {
    /// The name of the functions. `Type::function` stands for each function of this name in the
    /// `impl` blocks of the type or in a trait. `function` stands for each function of this name
    /// outside of `impl` blocks and traits. Modules and generic arguments are not part of a name.
    /// [`Self::EVERY`] selects all functions.
    pub function: &'a str,
    /// The line of the function's name, from 1, if the statement is only for the function on this
    /// line. It has no effect with [`Self::EVERY`].
    pub line: Option<usize>,
    /// The statement, in one line.
    pub statement: &'a str,
}

impl EntrySplice<'_> {
    /// The name that selects all functions that are never evaluated at compile time.
    pub const EVERY: &'static str = "*";

    pub(crate) fn edit(&self, at: usize) -> Edit {
        Edit {
            at,
            text: Cow::Owned(self.statement.to_owned()),
            site: None,
        }
    }
}

/// Returns each splice with the offsets at which its statement is inserted.
pub(crate) fn find<'a>(
    source: &Source,
    file: &File,
    splices: &'a [EntrySplice<'a>],
) -> Vec<(&'a EntrySplice<'a>, Vec<usize>)> {
    let mut finder = Finder {
        source,
        owner: None,
        found: splices.iter().map(|splice| (splice, vec![])).collect(),
    };
    if !splices.is_empty() {
        finder.visit_file(file);
    }
    finder.found
}

struct Finder<'s, 'a> {
    source: &'s Source<'s>,
    /// The name of the type or trait whose functions are visited.
    owner: Option<String>,
    found: Vec<(&'a EntrySplice<'a>, Vec<usize>)>,
}

impl Finder<'_, '_> {
    fn function(&mut self, attributes: &[Attribute], signature: &syn::Signature, body: &Block) {
        if runs_only_at_run_time(attributes, signature) {
            for (splice, places) in &mut self.found {
                let (owner, name) = match splice.function.rsplit_once("::") {
                    Some((owner, name)) => (Some(owner), name),
                    None => (None, splice.function),
                };
                let line = self.source.line_of(signature.ident.span().start());
                let is_it = signature.ident == name
                    && self.owner.as_deref() == owner
                    && splice.line.is_none_or(|wanted| wanted == line);
                if is_it || splice.function == EntrySplice::EVERY {
                    places.push(extent::head_of(self.source, attributes, body));
                }
            }
        }
        self.within(None, |finder| finder.visit_block(body));
    }

    fn within(&mut self, owner: Option<String>, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

impl<'ast> Visit<'ast> for Finder<'_, '_> {
    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        self.function(&node.attrs, &node.sig, &node.block);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        self.function(&node.attrs, &node.sig, &node.block);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast TraitItemFn) {
        if let Some(body) = &node.default {
            self.function(&node.attrs, &node.sig, body);
        }
    }

    fn visit_item_impl(&mut self, node: &'ast ItemImpl) {
        self.within(name_of(&node.self_ty), |finder| {
            visit::visit_item_impl(finder, node);
        });
    }

    fn visit_item_trait(&mut self, node: &'ast ItemTrait) {
        self.within(Some(node.ident.to_string()), |finder| {
            visit::visit_item_trait(finder, node);
        });
    }
}

fn name_of(mut ty: &Type) -> Option<String> {
    loop {
        ty = match ty {
            Type::Path(path) => return Some(path.path.segments.last()?.ident.to_string()),
            Type::Reference(reference) => &reference.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return Some(String::new()),
        };
    }
}
