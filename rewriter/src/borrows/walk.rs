//! The visitor of a file. It tracks unsafe code, code that is evaluated at compile time, and the
//! expressions that are borrowed.

use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, File, ItemMacro, Local, Pat, PatIdent, Safety, Signature, Stmt,
    StmtMacro,
};

use super::find::Finder;
use super::place::Place;
use super::site::{Kind, Left};
use crate::visitor::{has_prelude, runs_only_at_run_time, visit_code};

impl Finder<'_> {
    pub(super) fn file(&mut self, file: &File) {
        if has_prelude(&file.attrs) {
            self.visit_file(file);
        }
    }

    fn borrowed(&mut self, borrow: Option<Kind>, expression: &Expr) {
        self.borrow = borrow;
        self.visit_expr(expression);
    }

    /// Visits code whose temporary values are dropped at its end.
    pub(super) fn apart(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.extends, false);
        visit(self);
        self.extends = outer;
    }

    /// Visits code into which no text is inserted, for the reason `left`.
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
        self.leaving(Left::Constant, |finder| finder.visit_expr(value));
        self.is_unsafe = outer;
    }

    fn constant_block(&mut self, block: &Block) {
        self.leaving(Left::Constant, |finder| finder.visit_block(block));
    }

    fn expression(&mut self, expression: &Expr, borrow: Option<Kind>) {
        if let Some(place) = Place::of(expression, self.statics) {
            return self.place(&place, borrow);
        }
        match expression {
            Expr::Paren(e) => self.borrowed(borrow, &e.expr),
            Expr::Group(e) => self.borrowed(borrow, &e.expr),
            Expr::Reference(e) => {
                let kind = match e.mutability {
                    Some(_) => Kind::BorrowMut,
                    None => Kind::Borrow,
                };
                self.borrowed(Some(kind), &e.expr);
            }
            Expr::Call(e) => self.call(e),
            Expr::MethodCall(e) => self.method(expression, e),
            Expr::Match(e) => {
                let borrow = e.arms.first().and_then(|arm| borrow_by(&arm.pat));
                self.apart(|finder| finder.borrowed(borrow, &e.expr));
                e.arms.iter().for_each(|arm| self.visit_arm(arm));
            }
            Expr::Let(e) => {
                self.apart(|finder| finder.borrowed(borrow_by(&e.pat), &e.expr));
                self.visit_pat(&e.pat);
            }
            Expr::Closure(e) if e.constness.is_some() => {
                self.leaving(Left::Constant, |finder| finder.visit_expr(&e.body));
            }
            Expr::Closure(e) => self.apart(|finder| finder.visit_expr(&e.body)),
            Expr::Unsafe(e) => self.within_unsafe(&e.block),
            // The length is evaluated only by the compiler.
            Expr::Repeat(e) => self.visit_expr(&e.expr),
            Expr::Macro(e) => self.expression_macro(&e.mac),
            _ => visit::visit_expr(self, expression),
        }
    }
}

/// Returns the kind of the reference that a pattern creates to the whole matched place. A
/// reference within a larger pattern does not count: it refers to a part of the place, and the
/// part may exist only for some values of the place.
fn borrow_by(pattern: &Pat) -> Option<Kind> {
    match pattern {
        Pat::Ident(PatIdent {
            by_ref: Some(_),
            mutability,
            subpat: None,
            ..
        }) => Some(match mutability {
            Some(_) => Kind::BorrowMut,
            None => Kind::Borrow,
        }),
        Pat::Guard(guarded) => borrow_by(&guarded.pat),
        Pat::Type(typed) => borrow_by(&typed.pat),
        Pat::Paren(paren) => borrow_by(&paren.pat),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr(&mut self, node: &'ast Expr) {
        let borrow = self.borrow.take();
        self.expression(node, borrow);
    }

    fn visit_local(&mut self, node: &'ast Local) {
        if let Some(init) = &node.init {
            let outer = std::mem::replace(&mut self.extends, true);
            self.borrowed(borrow_by(&node.pat), &init.expr);
            self.extends = outer;
            if let Some((_, diverge)) = &init.diverge {
                self.apart(|finder| finder.visit_expr(diverge));
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
        self.expression_macro(&node.mac);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        self.unknown_tokens(node.tokens.clone());
    }
}
