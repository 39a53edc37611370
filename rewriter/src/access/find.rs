//! The sites of a file, and the edits that report their accesses.

use proc_macro2::Span;
use syn::{Expr, ExprCall, ExprMethodCall};

use super::forms::{Form, Forms};
use super::methods;
use super::place::{Operand, Place, Root, is_place};
use super::site::{Kind, Left, Site, SiteId};
use crate::calls::is_constructor;
use crate::declarations::Declarations;
use crate::edit::Edit;
use crate::extent;
use crate::lines::Lines;
use crate::source::Source;

/// The use of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// The place that the expression names is accessed.
    Access(Kind),
    /// A pointer to another place is read from it.
    Pointer,
    /// Its address is taken, or it is not used.
    Nothing,
}

/// The use of a place whose value is moved or copied.
pub(super) const VALUE: Use = Use::Access(Kind::Read);

/// Visits a file and collects its sites and edits.
pub(super) struct Finder<'s> {
    pub(super) source: &'s Source<'s>,
    pub(super) declarations: &'s Declarations,
    pub(super) forms: Forms<'s>,
    pub(super) without: &'s [SiteId],
    pub(super) only_borrows: bool,
    pub(super) lines: Option<&'s Lines>,
    pub(super) sites: Vec<Site>,
    /// The edits at the start of sites, with outer sites first.
    pub(super) openings: Vec<Edit>,
    /// The edits at the end of sites, with inner sites first.
    pub(super) closings: Vec<Edit>,
    /// The use of the expression that is visited next.
    pub(super) context: Use,
    /// Whether temporary values may have to live longer than their statement.
    pub(super) extends: bool,
    pub(super) is_unsafe: bool,
    /// The reason why no text is inserted at the current position, if there is one.
    pub(super) left: Option<Left>,
}

impl Finder<'_> {
    /// Adds a site whose splice encloses the code that `inside` visits.
    fn site(
        &mut self,
        whole: &Expr,
        id: SiteId,
        form: Result<Form, Left>,
        inside: impl FnOnce(&mut Self),
    ) {
        let start = extent::start_of(self.source, whole);
        let is_other = self.only_borrows && !id.kind.is_borrow();
        if is_other || self.lines.is_some_and(|lines| !lines.contain(start)) {
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
            pointers: form.as_ref().map_or(0, |form| form.pointers),
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

    /// Adds an access within tokens that are not known to be Rust.
    pub(super) fn unknown_site(&mut self, star: Span) {
        let start = self.source.start_of(star);
        if !self.only_borrows && self.lines.is_none_or(|lines| lines.contain(start)) {
            self.sites.push(Site {
                id: self.id(star, Kind::Read),
                start,
                end: self.source.end_of(star),
                pointers: 0,
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

    /// Visits a place whose use is `context`.
    pub(super) fn place(&mut self, place: &Place, context: Use) {
        let kind = match context {
            Use::Access(kind) => kind,
            Use::Pointer if may_pass_pointer(place) => Kind::Read,
            Use::Pointer | Use::Nothing => return self.within(place),
        };
        if !self.is_unsafe {
            return self.within(place);
        }
        let id = self.id(place.span(), kind);
        let form = self.forms.form(place, kind, self.extends);
        self.site(place.whole, id, form, |finder| finder.within(place));
    }

    /// Visits the expressions that compute a place.
    fn within(&mut self, place: &Place) {
        if let Root::Target(deref) = place.root {
            let context = match place.operand() {
                // The pointers on the way are reported together with the place.
                Operand::Steady => Use::Nothing,
                Operand::Part => Use::Pointer,
                Operand::Value => VALUE,
            };
            self.used(context, &deref.expr);
        }
        self.apart(|finder| place.indices().for_each(|index| finder.value(index)));
    }

    /// Visits `&raw const place`, which reads only the pointers on the way.
    pub(super) fn address(&mut self, whole: &Expr, of: &Expr) {
        let place = Place::of(of, self.declarations);
        let pointers = place
            .as_ref()
            .map(|place| place.pointers(self.declarations))
            .unwrap_or_default();
        match (place, pointers.first()) {
            (Some(place), Some(first)) if self.is_unsafe => {
                let first = Place::of(first, self.declarations).map(|first| first.span());
                let id = self.id(first.unwrap_or(place.span()), Kind::Read);
                let form = self.forms.form_of_address(whole, &place);
                self.site(whole, id, form, |finder| finder.within(&place));
            }
            (Some(place), _) => self.within(&place),
            (None, _) => self.used(Use::Nothing, of),
        }
    }

    /// Visits a call of a method.
    pub(super) fn method(&mut self, whole: &Expr, call: &ExprMethodCall) {
        let place = Place::of(&call.receiver, self.declarations);
        let inside = |finder: &mut Self| {
            match &place {
                Some(place) => finder.within(place),
                None if is_place(&call.receiver) => finder.used(Use::Nothing, &call.receiver),
                None => finder.value(&call.receiver),
            }
            call.args.iter().for_each(|argument| finder.value(argument));
        };
        if !self.is_unsafe {
            return self.apart(inside);
        }
        let (id, form) = match (methods::of(call), &place) {
            (Some(method), _) => (
                self.id(call.method.span(), method.kind),
                self.forms.form_of_method(whole, call, &method),
            ),
            (None, Some(place)) => (
                self.id(place.span(), Kind::Receive),
                self.forms.form_of_call(whole, place),
            ),
            (None, None) => return self.apart(inside),
        };
        self.apart(|finder| finder.site(whole, id, form, inside));
    }

    /// Visits a call whose function is the value of an expression.
    pub(super) fn call(&mut self, whole: &Expr, call: &ExprCall) {
        let place = Place::of(&call.func, self.declarations);
        let inside = |finder: &mut Self| {
            match &place {
                Some(place) => finder.within(place),
                None => finder.value(&call.func),
            }
            call.args.iter().for_each(|argument| finder.value(argument));
        };
        match &place {
            Some(place) if self.is_unsafe => {
                let id = self.id(place.span(), Kind::Receive);
                let form = self.forms.form_of_call(whole, place);
                self.apart(|finder| finder.site(whole, id, form, inside));
            }
            // A value borrowed in `let x = Some(&temporary())` lives longer than the statement.
            _ if is_constructor(&call.func) => inside(self),
            _ => self.apart(inside),
        }
    }
}

/// Whether the form for a pointer on the way to a place keeps temporary values alive.
fn may_pass_pointer(place: &Place) -> bool {
    match place.operand() {
        Operand::Steady => true,
        Operand::Value => place.is_indexed_repeatably(),
        Operand::Part => false,
    }
}
