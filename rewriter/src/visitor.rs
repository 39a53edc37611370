//! The part that the visitors of a file's code have in common: functions, constants, and
//! expressions that only the compiler evaluates.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{Attribute, Meta, Signature};

/// Methods of an implementation of `Visit<'ast>`. They call these functions of the visitor:
///
/// - `function(attributes, signature, block)` for a function with a body,
/// - `constant(expression)` for the value of a constant or a static,
/// - `constant_block(block)` for a `const` block.
macro_rules! visit_code {
    ($ast:lifetime) => {
        fn visit_item_fn(&mut self, node: &$ast syn::ItemFn) {
            self.function(&node.attrs, &node.sig, &node.block);
        }

        fn visit_impl_item_fn(&mut self, node: &$ast syn::ImplItemFn) {
            self.function(&node.attrs, &node.sig, &node.block);
        }

        fn visit_trait_item_fn(&mut self, node: &$ast syn::TraitItemFn) {
            if let Some(block) = &node.default {
                self.function(&node.attrs, &node.sig, block);
            }
        }

        fn visit_item_mod(&mut self, node: &$ast syn::ItemMod) {
            if $crate::visitor::has_prelude(&node.attrs) {
                syn::visit::visit_item_mod(self, node);
            }
        }

        fn visit_item_const(&mut self, node: &$ast syn::ItemConst) {
            self.constant(&node.expr);
        }

        fn visit_item_static(&mut self, node: &$ast syn::ItemStatic) {
            self.constant(&node.expr);
        }

        fn visit_impl_item_const(&mut self, node: &$ast syn::ImplItemConst) {
            self.constant(&node.expr);
        }

        fn visit_trait_item_const(&mut self, node: &$ast syn::TraitItemConst) {
            if let Some((_, value)) = &node.default {
                self.constant(value);
            }
        }

        fn visit_expr_const(&mut self, node: &$ast syn::ExprConst) {
            self.constant_block(&node.block);
        }

        fn visit_pat(&mut self, node: &$ast syn::Pat) {
            if let syn::Pat::Guard(guarded) = node {
                self.visit_expr(&guarded.guard);
            }
        }

        // The compiler alone evaluates the expressions in the following nodes.

        fn visit_angle_bracketed_generic_arguments(
            &mut self,
            _: &$ast syn::AngleBracketedGenericArguments,
        ) {
        }

        fn visit_attribute(&mut self, _: &$ast syn::Attribute) {}

        fn visit_generics(&mut self, _: &$ast syn::Generics) {}

        fn visit_signature(&mut self, _: &$ast syn::Signature) {}

        fn visit_type(&mut self, _: &$ast syn::Type) {}

        fn visit_variant(&mut self, _: &$ast syn::Variant) {}
    };
}

pub(crate) use visit_code;

/// Whether the function is never evaluated at compile time, and its body consists of Rust code.
///
/// Attributes can make a function `const`: `#[cfg_attr(feature = "x", const_fn)]`,
/// `#[rustversion::attr(since(1.61), const)]`.
pub(crate) fn runs_only_at_run_time(attributes: &[Attribute], signature: &Signature) -> bool {
    signature.constness.is_none() && !attributes.iter().any(forbids_marks)
}

fn forbids_marks(attribute: &Attribute) -> bool {
    let names = &attribute.path().segments;
    names.iter().any(|name| is_forbidding(&name.ident))
        || matches!(&attribute.meta, Meta::List(list) if has_forbidding(list.tokens.clone()))
}

fn has_forbidding(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => is_forbidding(&name),
        TokenTree::Group(group) => has_forbidding(group.stream()),
        _ => false,
    })
}

fn is_forbidding(name: &Ident) -> bool {
    ["naked", "const", "const_fn"]
        .iter()
        .any(|forbidding| name == forbidding)
}

/// Whether names of `std`'s prelude are in scope in the module with these attributes.
pub(crate) fn has_prelude(attributes: &[Attribute]) -> bool {
    !attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("no_implicit_prelude"))
}
