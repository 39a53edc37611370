//! The calls of `try_reserve` and `try_reserve_exact`. The search chooses whether they fail.
//!
//! The argument `n` of a call becomes `__chess::reserve(n)`, which returns `n`, or a number that
//! is too large for any collection. Calls in the arguments of macros, and calls by a path
//! (`Vec::try_reserve(&mut v, n)`), are not found.

use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ExprMethodCall, File, Signature};

use crate::edit::Edit;
use crate::extent;
use crate::lines::Lines;
use crate::source::Source;
use crate::visitor::{runs_only_at_run_time, visit_code};

const METHODS: &[&str] = &["try_reserve", "try_reserve_exact"];

/// The edits of a file's calls that reserve memory.
#[derive(Default)]
pub(crate) struct Reservations {
    /// The edits before the arguments of the calls.
    pub openings: Vec<Edit>,
    /// The edits after the arguments of the calls.
    pub closings: Vec<Edit>,
}

/// Finds the calls of `try_reserve` and `try_reserve_exact` in a file. Returns the edits that wrap
/// their arguments in `__chess::reserve(..)`. If `lines` is given, only the calls whose argument
/// begins in these lines are edited.
pub(crate) fn find(source: &Source, file: &File, lines: Option<&Lines>) -> Reservations {
    let mut visitor = Visitor {
        source,
        lines,
        found: Reservations::default(),
    };
    visitor.visit_file(file);
    visitor.found
}

struct Visitor<'s> {
    source: &'s Source<'s>,
    lines: Option<&'s Lines>,
    found: Reservations,
}

impl Visitor<'_> {
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) {
        if runs_only_at_run_time(attributes, signature) {
            self.visit_block(block);
        }
    }

    // No collection allocates at compile time.
    #[expect(clippy::unused_self, reason = "`visit_code` requires a method")]
    fn constant(&mut self, _: &Expr) {}

    #[expect(clippy::unused_self, reason = "`visit_code` requires a method")]
    fn constant_block(&mut self, _: &Block) {}
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    visit_code!('ast);

    fn visit_expr_method_call(&mut self, node: &'ast ExprMethodCall) {
        if METHODS.iter().any(|name| node.method == name)
            && node.args.len() == 1
            && let Some(argument) = node.args.first()
        {
            let start = extent::start_of(self.source, argument);
            let end = extent::end_of(self.source, argument);
            let is_inside = self.lines.is_none_or(|lines| lines.contain(start));
            if is_inside {
                self.found
                    .openings
                    .push(Edit::new(start, "__chess::reserve("));
                self.found.closings.push(Edit::new(end, ")"));
            }
        }
        visit::visit_expr_method_call(self, node);
    }
}
