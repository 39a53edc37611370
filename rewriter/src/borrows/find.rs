//! Finds the sites of a file (the expressions that create references to raw memory), and computes
//! the edits that report them.

use proc_macro2::Span;
use syn::visit::Visit;
use syn::{Expr, ExprCall, ExprMethodCall};

use super::forms::{Form, Forms};
use super::methods;
use super::place::{Place, Root};
use super::site::{Kind, Left, Site, SiteId};
use crate::edit::Edit;
use crate::extent;
use crate::lines::Lines;
use crate::may_call::is_constructor;
use crate::mutable_statics::MutableStatics;
use crate::source::Source;

/// Visits a file, and collects its [`Site`]s and their edits.
pub(super) struct Finder<'s> {
    pub(super) source: &'s Source<'s>,
    pub(super) statics: &'s MutableStatics,
    pub(super) forms: Forms<'s>,
    pub(super) without: &'s [SiteId],
    pub(super) lines: Option<&'s Lines>,
    pub(super) sites: Vec<Site>,
    /// The edits at the start of sites. The edit of a site comes before the edits of its inner
    /// sites.
    pub(super) openings: Vec<Edit>,
    /// The edits at the end of sites. The edit of a site comes after the edits of its inner sites.
    pub(super) closings: Vec<Edit>,
    /// The kind of the borrow, if the expression that is visited next is borrowed.
    pub(super) borrow: Option<Kind>,
    /// Whether temporary values may have to live longer than their statement, as in
    /// `let x = &f();`.
    pub(super) extends: bool,
    pub(super) is_unsafe: bool,
    /// The reason why no text is inserted at the current position, if there is one.
    pub(super) left: Option<Left>,
}

impl Finder<'_> {
    /// Adds a site for the expression `whole`, if the expression is in the selected lines.
    /// `inside` visits the parts of the expression. The edits of the site enclose the edits of the
    /// parts.
    fn site(
        &mut self,
        whole: &Expr,
        id: SiteId,
        form: Result<Form, Left>,
        inside: impl FnOnce(&mut Self),
    ) {
        let start = extent::start_of(self.source, whole);
        if self.lines.is_some_and(|lines| !lines.contain(start)) {
            return inside(self);
        }
        let refused = self.without.contains(&id).then_some(Left::Refused);
        let form = match self.left.or(refused) {
            Some(left) => Err(left),
            None => form,
        };
        let index = self.sites.len();
        self.sites.push(Site {
            id,
            start,
            end: extent::end_of(self.source, whole),
            left: form.as_ref().err().copied(),
        });
        let Ok(form) = form else {
            return inside(self);
        };
        self.openings
            .push(Edit::of_site(form.start, form.before, index));
        inside(self);
        self.closings
            .push(Edit::of_site(form.end, form.behind, index));
    }

    /// Adds a site without edits, for a borrow in tokens that may not be Rust.
    pub(super) fn unknown_site(&mut self, span: Span, kind: Kind) {
        let start = self.source.start_of(span);
        if self.lines.is_none_or(|lines| lines.contain(start)) {
            self.sites.push(Site {
                id: self.id(span, kind),
                start,
                end: self.source.end_of(span),
                left: Some(self.left.unwrap_or(Left::Macro)),
            });
        }
    }

    fn id(&self, span: Span, kind: Kind) -> SiteId {
        let start = span.start();
        SiteId {
            line: self.source.line_of(start),
            column: start.column + 1,
            kind,
        }
    }

    /// Visits an expression that names a place. Adds a site if `borrow` is the kind of a borrow of
    /// the place and the code is unsafe.
    pub(super) fn place(&mut self, place: &Place, borrow: Option<Kind>) {
        match borrow {
            Some(kind) if self.is_unsafe => {
                let id = self.id(place.span(), kind);
                let form = self.forms.form(place, kind, self.extends);
                self.site(place.whole, id, form, |finder| finder.within(place));
            }
            _ => self.within(place),
        }
    }

    /// Visits the expressions that compute the address of a place: its pointer and its indices.
    fn within(&mut self, place: &Place) {
        if let Root::Target(deref) = place.root {
            self.visit_expr(&deref.expr);
        }
        self.apart(|finder| place.indices().for_each(|index| finder.visit_expr(index)));
    }

    /// Visits a call of a method.
    pub(super) fn method(&mut self, whole: &Expr, call: &ExprMethodCall) {
        let inside = |finder: &mut Self| {
            finder.visit_expr(&call.receiver);
            call.args.iter().for_each(|it| finder.visit_expr(it));
        };
        let method = methods::named(&call.method.to_string());
        match method.filter(|_| self.is_unsafe && call.args.is_empty()) {
            None => self.apart(inside),
            Some(method) => {
                let id = self.id(call.method.span(), method.kind);
                let form = self.forms.form_of_method(whole, call, method);
                self.apart(|finder| finder.site(whole, id, form, inside));
            }
        }
    }

    /// Visits a call of a function, or of a constructor.
    pub(super) fn call(&mut self, call: &ExprCall) {
        let inside = |finder: &mut Self| {
            finder.visit_expr(&call.func);
            call.args.iter().for_each(|it| finder.visit_expr(it));
        };
        // A value borrowed in `let x = Some(&temporary())` lives longer than the statement.
        if is_constructor(&call.func) {
            inside(self);
        } else {
            self.apart(inside);
        }
    }
}
