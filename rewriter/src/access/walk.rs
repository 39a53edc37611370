//! The visitor of a file. It tracks unsafe code, code that is evaluated at compile time, and the
//! use of each expression.

use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, File, ItemMacro, Local, Pat, PatIdent, Safety, Signature, Stmt,
    StmtMacro,
};

use super::find::{Finder, Use, VALUE};
use super::place::{Place, is_assigning, is_comparing};
use super::site::{Kind, Left};
use crate::visitor::{has_prelude, runs_only_at_run_time, visit_code};

const INSPECTED: Use = Use::Access(Kind::Inspect);

impl Finder<'_> {
    pub(super) fn file(&mut self, file: &File) {
        if has_prelude(&file.attrs) {
            self.visit_file(file);
        }
    }

    pub(super) fn used(&mut self, context: Use, expression: &Expr) {
        self.context = context;
        self.visit_expr(expression);
    }

    pub(super) fn value(&mut self, expression: &Expr) {
        self.used(VALUE, expression);
    }

    pub(super) fn inspected(&mut self, expression: &Expr) {
        self.used(INSPECTED, expression);
    }

    /// Visits code at whose end its temporary values are dropped.
    pub(super) fn apart(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.extends, false);
        visit(self);
        self.extends = outer;
    }

    /// Visits code into which no text is inserted.
    pub(super) fn leaving(&mut self, left: Left, visit: impl FnOnce(&mut Self)) {
        let outer = self.left.replace(left);
        visit(self);
        self.left = outer;
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) {
        let is_unsafe = matches!(signature.safety, Safety::Unsafe(_));
        let left = (!runs_only_at_run_time(attributes, signature)).then_some(Left::Constant);
        let outer = (self.is_unsafe, self.left);
        (self.is_unsafe, self.left) = (is_unsafe, left);
        self.apart(|finder| finder.visit_block(block));
        (self.is_unsafe, self.left) = outer;
    }

    fn within_unsafe(&mut self, block: &Block) {
        let outer = std::mem::replace(&mut self.is_unsafe, true);
        self.visit_block(block);
        self.is_unsafe = outer;
    }

    fn constant(&mut self, value: &Expr) {
        let outer = std::mem::replace(&mut self.is_unsafe, false);
        self.leaving(Left::Constant, |finder| finder.value(value));
        self.is_unsafe = outer;
    }

    fn constant_block(&mut self, block: &Block) {
        self.leaving(Left::Constant, |finder| finder.visit_block(block));
    }

    /// Visits the left side of an assignment, which may name several places.
    fn assigned(&mut self, expression: &Expr) {
        match expression {
            Expr::Tuple(e) => e.elems.iter().for_each(|element| self.assigned(element)),
            Expr::Array(e) => e.elems.iter().for_each(|element| self.assigned(element)),
            _ => self.used(Use::Access(Kind::Write), expression),
        }
    }

    fn expression(&mut self, expression: &Expr, context: Use) {
        if let Some(place) = Place::of(expression, self.declarations) {
            return self.place(&place, context);
        }
        match expression {
            Expr::Paren(e) => self.used(context, &e.expr),
            Expr::Group(e) => self.used(context, &e.expr),
            Expr::Reference(e) => {
                let kind = match e.mutability {
                    Some(_) => Kind::BorrowMut,
                    None => Kind::Borrow,
                };
                self.used(Use::Access(kind), &e.expr);
            }
            Expr::RawAddr(e) => self.address(expression, &e.expr),
            Expr::Assign(e) => {
                self.assigned(&e.left);
                let is_dropped = matches!(*e.left, Expr::Infer(_));
                let context = if is_dropped { Use::Nothing } else { VALUE };
                self.apart(|finder| finder.used(context, &e.right));
            }
            Expr::Binary(e) if is_assigning(&e.op) => {
                self.used(Use::Access(Kind::Update), &e.left);
                self.apart(|finder| finder.value(&e.right));
            }
            Expr::Binary(e) if is_comparing(&e.op) => {
                self.apart(|finder| {
                    finder.inspected(&e.left);
                    finder.inspected(&e.right);
                });
            }
            Expr::Call(e) => self.call(expression, e),
            Expr::MethodCall(e) => self.method(expression, e),
            Expr::Match(e) => {
                let patterns = e.arms.iter().map(|arm| &arm.pat);
                self.apart(|finder| finder.used(use_of(patterns), &e.expr));
                e.arms.iter().for_each(|arm| self.visit_arm(arm));
            }
            Expr::Let(e) => {
                self.apart(|finder| finder.used(use_of([&*e.pat]), &e.expr));
                self.visit_pat(&e.pat);
            }
            Expr::Struct(e) => {
                e.fields.iter().for_each(|field| self.value(&field.expr));
                if let Some(rest) = &e.rest {
                    self.inspected(rest);
                }
            }
            Expr::Closure(e) if e.constness.is_some() => {
                self.leaving(Left::Constant, |finder| finder.value(&e.body));
            }
            Expr::Closure(e) => self.apart(|finder| finder.value(&e.body)),
            Expr::Unsafe(e) => self.within_unsafe(&e.block),
            Expr::Repeat(e) => self.value(&e.expr),
            Expr::Macro(e) => self.expression_macro(&e.mac, Some(expression)),
            _ => visit::visit_expr(self, expression),
        }
    }
}

/// Returns the use of a place that is matched with these patterns.
fn use_of<'p>(patterns: impl IntoIterator<Item = &'p Pat>) -> Use {
    let mut references = References::default();
    let mut one = None;
    let mut count = 0;
    for pattern in patterns {
        references.visit_pat(pattern);
        one = Some(pattern);
        count += 1;
    }
    match references {
        References { mutable: true, .. } => Use::Access(Kind::BorrowMut),
        References { shared: true, .. } => Use::Access(Kind::Borrow),
        _ => match one {
            Some(pattern) if count == 1 => use_of_one(pattern),
            _ => INSPECTED,
        },
    }
}

fn use_of_one(pattern: &Pat) -> Use {
    match pattern {
        Pat::Wild(_) => Use::Nothing,
        Pat::Type(typed) => use_of_one(&typed.pat),
        Pat::Paren(paren) => use_of_one(&paren.pat),
        _ => INSPECTED,
    }
}

/// Bindings by reference in patterns, without an explicit type.
#[derive(Default)]
struct References {
    shared: bool,
    mutable: bool,
}

impl<'ast> Visit<'ast> for References {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        if pattern.by_ref.is_some() {
            let is_mutable = pattern.mutability.is_some();
            self.mutable |= is_mutable;
            self.shared |= !is_mutable;
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr(&mut self, _: &'ast Expr) {}
}

/// Returns the use of a place that initializes one or several variables.
fn use_by_local(pattern: &Pat) -> Use {
    match pattern {
        Pat::Ident(PatIdent {
            by_ref: None,
            subpat: None,
            ..
        }) => VALUE,
        Pat::Type(typed) => use_by_local(&typed.pat),
        _ => use_of([pattern]),
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr(&mut self, node: &'ast Expr) {
        let context = std::mem::replace(&mut self.context, VALUE);
        self.expression(node, context);
        self.context = VALUE;
    }

    fn visit_local(&mut self, node: &'ast Local) {
        if let Some(init) = &node.init {
            let outer = std::mem::replace(&mut self.extends, true);
            self.used(use_by_local(&node.pat), &init.expr);
            self.extends = outer;
            if let Some((_, diverge)) = &init.diverge {
                self.apart(|finder| finder.value(diverge));
            }
        }
    }

    fn visit_stmt(&mut self, node: &'ast Stmt) {
        match node {
            Stmt::Expr(_, Some(_)) | Stmt::Item(_) => {
                self.apart(|finder| visit::visit_stmt(finder, node));
            }
            _ => visit::visit_stmt(self, node),
        }
    }

    visit_code!('ast);

    fn visit_item_macro(&mut self, node: &'ast ItemMacro) {
        self.item_macro(&node.mac);
    }

    fn visit_stmt_macro(&mut self, node: &'ast StmtMacro) {
        self.expression_macro(&node.mac, None);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        self.unknown_tokens(node.tokens.clone());
    }
}
