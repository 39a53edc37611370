//! The inline assembly of a file, including assembly in the arguments of macros.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::source::{Source, SyntaxError};

/// The names of the macros whose arguments are assembly.
const MACROS: &[&str] = &["asm", "global_asm", "naked_asm", "llvm_asm"];

/// The prefixes of the names of instructions that order memory accesses between threads, or that
/// make a system call.
const SYNCHRONIZING: &[&str] = &[
    "lock", "xchg", "cmpxchg", "xadd", "mfence", "lfence", "sfence", "syscall", "sysenter",
];

/// One use of inline assembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asm {
    /// The line of the macro's name, from 1.
    pub line: usize,
    /// Whether an instruction of the assembly synchronizes: a fence, a locked instruction or a
    /// system call.
    pub synchronizes: bool,
}

/// Lists the uses of inline assembly in a file, by line.
///
/// Uses in the arguments of macros are listed too. Uses in code that `cfg` removes are also
/// listed, because `cfg` is not evaluated here.
pub fn inline_asm(text: &str) -> Result<Vec<Asm>, SyntaxError> {
    let mut found = Vec::new();
    if text.contains("asm") {
        scan(Source::new(text).tokens()?, &mut found);
    }
    Ok(found)
}

fn scan(tokens: TokenStream, found: &mut Vec<Asm>) {
    // The first variable is the line of `asm` if this is the previous token. The second one is the
    // line of `asm!` if these are the previous tokens. A group is assembly only after `asm!`.
    let mut name = None;
    let mut invocation = None;
    for token in tokens {
        let after_name = name.take();
        let after_bang = invocation.take();
        match token {
            TokenTree::Ident(ident) if MACROS.iter().any(|asm| ident == asm) => {
                name = Some(ident.span().start().line);
            }
            TokenTree::Punct(punct) if punct.as_char() == '!' => invocation = after_name,
            TokenTree::Group(group) => match after_bang {
                Some(line) => found.push(Asm {
                    line,
                    synchronizes: synchronizes(&group),
                }),
                None => scan(group.stream(), found),
            },
            _ => {}
        }
    }
}

/// Whether a string among the arguments of an assembly macro has a synchronizing instruction.
/// Strings within a nested macro such as `concat!` count too.
fn synchronizes(arguments: &Group) -> bool {
    let mut operand = false;
    for token in arguments.stream() {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string().to_ascii_lowercase();
                let synchronizing = text
                    .split(|character: char| !character.is_ascii_alphanumeric())
                    .any(|word| SYNCHRONIZING.iter().any(|start| word.starts_with(start)));
                if !operand && synchronizing {
                    return true;
                }
                operand = false;
            }
            // `in("eax") lock`: the parentheses name a register.
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                if !operand && synchronizes(&group) {
                    return true;
                }
                operand = false;
            }
            TokenTree::Ident(ident) => {
                operand = ["in", "out", "inout", "lateout", "inlateout", "options"]
                    .iter()
                    .any(|name| ident == name);
            }
            _ => operand = false,
        }
    }
    false
}
