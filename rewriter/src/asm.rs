//! Inline assembly in a file, also where macros will make it.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::source::{Source, SyntaxError};

/// The macros whose arguments are assembly.
const MACROS: &[&str] = &["asm", "global_asm", "naked_asm", "llvm_asm"];

/// The beginnings of instructions that order memory accesses between threads, or ask the system.
const SYNCHRONIZING: &[&str] = &[
    "lock", "xchg", "cmpxchg", "xadd", "mfence", "lfence", "sfence", "syscall", "sysenter",
];

/// One use of inline assembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asm {
    /// The line of the macro's name, from 1.
    pub line: usize,
    /// Whether an instruction of it synchronizes: fences, locked instructions, system calls.
    pub synchronizes: bool,
}

/// Lists the inline assembly of a file, by line.
///
/// Counts what is there, within macros too: what `cfg` leaves out is not known here.
pub fn inline_asm(text: &str) -> Result<Vec<Asm>, SyntaxError> {
    let mut found = Vec::new();
    if text.contains("asm") {
        scan(Source::new(text).tokens()?, &mut found);
    }
    Ok(found)
}

fn scan(tokens: TokenStream, found: &mut Vec<Asm>) {
    // The line of `asm`, then of `asm!`: what a group must follow to be assembly.
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

/// Whether a template, or a part of it given to `concat!`, has a synchronizing instruction.
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
