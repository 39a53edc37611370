//! The positions of marks: between statements, and where control returns to a body.
//!
//! Between statements, a mark precedes only a statement that may call a function. `may_call.rs`
//! decides this by the syntax. The body of a function or of a loop begins with a mark, unless the
//! function is trivial (`block_ends.rs`).
//!
//! A mark directly follows the token before the statement. There it moves no line, and it moves the
//! columns of the statement only if that token is on the same line. Code that is evaluated at
//! compile time gets no marks.

use syn::visit::Visit;
use syn::{
    Arm, Attribute, Block, Expr, ExprAsync, ExprClosure, ExprForLoop, ExprIf, ExprLoop, ExprRepeat,
    ExprWhile, File, Local, ReturnType, Signature,
};

use crate::block_ends::{Body, EndMark, end_mark, is_braced_macro, is_trivial, lacks_semicolon};
use crate::edit::{Edit, MARK};
use crate::source::Source;
use crate::visitor::{has_prelude, runs_only_at_run_time, visit_code};
use crate::{extent, may_call};

/// Opens a block that begins with a mark and has an expression as its value. `}` closes it.
const MARKED_BLOCK: &str = "{__chess_mark!();";

/// Marks the unit value at the end of a block, and makes it a statement, which another mark can
/// follow. The pattern `()` keeps the expected type of the value, on which type inference may
/// depend.
const MARKED_UNIT: &str = "__chess_mark!();let () = ";

/// Makes the value at the end of a block a statement, and marks the end of the block.
const MARK_OF_VALUE: &str = ";__chess_mark!();";

/// Returns all marks of a file, in the order of the text.
pub(crate) fn find(source: &Source, file: &File) -> Vec<Edit> {
    let mut marker = Marker {
        source,
        edits: Vec::new(),
        constant: false,
    };
    if has_prelude(&file.attrs) {
        marker.visit_file(file);
    }
    marker.edits
}

struct Marker<'s> {
    source: &'s Source<'s>,
    edits: Vec<Edit>,
    /// Whether the visited code is evaluated at compile time.
    constant: bool,
}

impl Marker<'_> {
    fn insert(&mut self, at: usize, text: &'static str) {
        if !self.constant {
            self.edits.push(Edit::new(at, text));
        }
    }

    fn within(&mut self, constant: bool, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.constant, constant);
        visit(self);
        self.constant = outer;
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) {
        let constant = !runs_only_at_run_time(attributes, signature);
        self.within(constant, |marker| {
            marker.block(attributes, block, Body::Callable);
        });
    }

    /// Visits the value of a constant or a static, which is computed at compile time. Only
    /// functions and closures in the value can run later.
    fn constant(&mut self, value: &Expr) {
        self.within(true, |marker| marker.visit_expr(value));
    }

    fn constant_block(&mut self, block: &Block) {
        self.within(true, |marker| marker.visit_block(block));
    }

    fn block(&mut self, attributes: &[Attribute], block: &Block, body: Body) {
        let head = extent::head_of(self.source, attributes, block);
        let begins_with_mark = match body {
            Body::Callable => !is_trivial(block),
            Body::WhileOrFor | Body::Loop => true,
            Body::Plain => block.stmts.first().is_some_and(may_call::in_statement),
        };
        let count = block.stmts.len();
        let markable = self.markable(block);
        let end_mark = match end_mark(block, body) {
            _ if markable < count => EndMark::None,
            EndMark::Unit if self.is_attributed(block, head, count - 1) => EndMark::None,
            end_mark => end_mark,
        };

        if begins_with_mark && !(count == 1 && end_mark == EndMark::Unit) {
            self.insert(head, MARK);
        }
        let mut end = head;
        for (index, statement) in block.stmts.iter().enumerate() {
            if index + 1 == count && end_mark == EndMark::Unit {
                self.insert(end, MARKED_UNIT);
            } else if (1..=markable).contains(&index) && may_call::in_statement(statement) {
                self.insert(end, MARK);
            }
            self.visit_stmt(statement);
            end = extent::end_of_statement(self.source, statement);
        }
        match end_mark {
            EndMark::None => {}
            EndMark::Plain => self.insert(end, MARK),
            EndMark::Macro | EndMark::Unit => self.insert(end, MARK_OF_VALUE),
        }
    }

    /// Returns the index of the last statement of the block that a mark may precede, or the number
    /// of statements if a mark may also follow the last one.
    ///
    /// A statement without a semicolon, such as `#[cfg(x)] { 1 }`, is the value of the block if
    /// `cfg` removes all statements after it, or if these are macros that expand to nothing.
    fn markable(&self, block: &Block) -> usize {
        let mut markable = block.stmts.len();
        for index in (1..markable).rev() {
            let may_vanish =
                self.is_attributed(block, 0, index) || is_braced_macro(&block.stmts[index]);
            if !may_vanish {
                break;
            }
            if lacks_semicolon(&block.stmts[index - 1]) {
                markable = index - 1;
            }
        }
        markable
    }

    /// Whether the statement number `index` of `block` has attributes. The statements of the block
    /// begin at the offset `head` of the source. It is used only for the statement 0.
    fn is_attributed(&self, block: &Block, head: usize, index: usize) -> bool {
        let end = match index.checked_sub(1) {
            None => head,
            Some(before) => extent::end_of_statement(self.source, &block.stmts[before]),
        };
        self.source.has_attribute_behind(end)
    }

    /// Visits an expression that begins after the offset `behind`. If the expression may call a
    /// function, encloses it in a block that begins with a mark.
    fn value(&mut self, behind: usize, value: &Expr) {
        let marked = may_call::in_expression(value)
            && !extent::differs_as_statement(value)
            && !self.source.has_attribute_behind(behind);
        if marked {
            self.insert(behind, MARKED_BLOCK);
        }
        self.visit_expr(value);
        if marked {
            self.insert(extent::end_of(self.source, value), "}");
        }
    }
}

impl<'ast> Visit<'ast> for Marker<'_> {
    visit_code!('ast);

    fn visit_block(&mut self, node: &'ast Block) {
        self.block(&[], node, Body::Plain);
    }

    fn visit_expr_block(&mut self, node: &'ast syn::ExprBlock) {
        self.block(&node.attrs, &node.block, Body::Plain);
    }

    fn visit_expr_unsafe(&mut self, node: &'ast syn::ExprUnsafe) {
        self.block(&node.attrs, &node.block, Body::Plain);
    }

    fn visit_expr_async(&mut self, node: &'ast ExprAsync) {
        self.within(false, |marker| {
            marker.block(&node.attrs, &node.block, Body::Callable);
        });
    }

    fn visit_expr_while(&mut self, node: &'ast ExprWhile) {
        self.visit_expr(&node.cond);
        self.block(&node.attrs, &node.body, Body::WhileOrFor);
    }

    fn visit_expr_for_loop(&mut self, node: &'ast ExprForLoop) {
        self.visit_expr(&node.expr);
        self.block(&node.attrs, &node.body, Body::WhileOrFor);
    }

    fn visit_expr_loop(&mut self, node: &'ast ExprLoop) {
        self.block(&node.attrs, &node.body, Body::Loop);
    }

    fn visit_expr_if(&mut self, node: &'ast ExprIf) {
        self.visit_expr(&node.cond);
        self.visit_block(&node.then_branch);
        match &node.else_branch {
            Some((else_token, otherwise)) if matches!(**otherwise, Expr::If(_)) => {
                self.value(self.source.end_of(else_token.span), otherwise);
            }
            Some((_, otherwise)) => self.visit_expr(otherwise),
            None => {}
        }
    }

    fn visit_arm(&mut self, node: &'ast Arm) {
        self.visit_pat(&node.pat);
        self.value(
            self.source.end_of(node.fat_arrow_token.spans[1]),
            &node.body,
        );
    }

    fn visit_expr_closure(&mut self, node: &'ast ExprClosure) {
        self.within(node.constness.is_some(), |marker| match &*node.body {
            Expr::Block(body) if body.label.is_none() => {
                marker.block(&body.attrs, &body.block, Body::Callable);
            }
            body => match &node.output {
                ReturnType::Default => {
                    marker.value(marker.source.end_of(node.inputs_end.span), body);
                }
                ReturnType::Type(..) => marker.visit_expr(body),
            },
        });
    }

    fn visit_expr_repeat(&mut self, node: &'ast ExprRepeat) {
        self.visit_expr(&node.expr);
    }

    fn visit_local(&mut self, node: &'ast Local) {
        if let Some(init) = &node.init {
            self.visit_expr(&init.expr);
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
    }
}
