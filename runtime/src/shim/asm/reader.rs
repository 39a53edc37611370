//! Parser of the text of inline assembly, instruction by instruction.
//!
//! It runs at compile time.

use super::Asm;

/// Parses the strings among the tokens as assembly, one instruction at a time.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one instruction"
)]
pub(super) struct Reader<'a> {
    tokens: &'a [u8],
    found: Asm,
    /// The current word.
    word: [u8; WORD],
    length: usize,
    /// The name of the current instruction; zeros if it is not complete yet.
    name: [u8; WORD],
    /// Whether the instruction has a `lock` prefix.
    locked: bool,
    /// The number of open brackets. Inside brackets is an address.
    brackets: u32,
    has_memory: bool,
    /// Whether the address in the operand is relative to the stack pointer.
    on_stack: bool,
    has_zero: bool,
    is_linux_call: bool,
    comment: Comment,
    last: u8,
}

/// The number of bytes that are kept of a word. All words with a meaning for the parser are shorter.
const WORD: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comment {
    None,
    ToEndOfLine,
    Enclosed,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(tokens: &'a [u8]) -> Self {
        Self {
            tokens,
            found: Asm::NOTHING,
            word: [0; WORD],
            length: 0,
            name: [0; WORD],
            locked: false,
            brackets: 0,
            has_memory: false,
            on_stack: false,
            has_zero: false,
            is_linux_call: false,
            comment: Comment::None,
            last: 0,
        }
    }

    /// Reads the strings among the tokens. Each string is a line of assembly; the strings within a
    /// `concat!` are one line.
    pub(super) const fn read(mut self) -> Asm {
        let (mut at, mut depth) = (0, 0_u32);
        while at < self.tokens.len() {
            match self.tokens[at] {
                b'"' => at = self.string(at),
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => self.end_line(),
                // A character literal that is a quotation mark. Other literals cannot be mistaken
                // for the start of a string.
                b'\'' if self.starts_with(at, b"'\"'") => at += 2,
                b'\'' if self.starts_with(at, b"'\\\"'") => at += 3,
                _ => {}
            }
            at += 1;
        }
        self.end_line();
        self.found
    }

    /// Reads the string that starts at `start`. Returns its end.
    const fn string(&mut self, start: usize) -> usize {
        let mut hashes = 0;
        while hashes < start && self.tokens[start - 1 - hashes] == b'#' {
            hashes += 1;
        }
        let is_raw = hashes < start && self.tokens[start - 1 - hashes] == b'r';
        let mut at = start + 1;
        while at < self.tokens.len() {
            match self.tokens[at] {
                b'"' if !is_raw || self.has_hashes(at + 1, hashes) => return at,
                b'\\' if !is_raw => {
                    at += 1;
                    match self.at(at) {
                        b'n' => self.next(b'\n'),
                        // Other escapes have no meaning in assembly, nor does an escaped line
                        // break.
                        _ => self.next(b' '),
                    }
                }
                byte => self.next(byte),
            }
            at += 1;
        }
        at
    }

    const fn at(&self, at: usize) -> u8 {
        if at < self.tokens.len() {
            self.tokens[at]
        } else {
            0
        }
    }

    const fn starts_with(&self, at: usize, text: &[u8]) -> bool {
        let mut i = 0;
        while i < text.len() {
            if self.at(at + i) != text[i] {
                return false;
            }
            i += 1;
        }
        true
    }

    const fn has_hashes(&self, at: usize, count: usize) -> bool {
        let mut i = 0;
        while i < count {
            if self.at(at + i) != b'#' {
                return false;
            }
            i += 1;
        }
        true
    }

    /// Reads a character of the assembly.
    const fn next(&mut self, byte: u8) {
        let last = core::mem::replace(&mut self.last, byte);
        match (self.comment, last, byte) {
            (Comment::ToEndOfLine, _, b'\n') => self.comment = Comment::None,
            (Comment::Enclosed, b'*', b'/') => {
                self.comment = Comment::None;
                self.last = 0;
                return;
            }
            (Comment::None, b'/', b'/') | (Comment::None, _, b'#') => {
                self.comment = Comment::ToEndOfLine;
            }
            (Comment::None, b'/', b'*') => self.comment = Comment::Enclosed,
            _ => {}
        }
        if !matches!(self.comment, Comment::None) {
            return;
        }
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' => {
                if self.length < WORD {
                    self.word[self.length] = byte.to_ascii_lowercase();
                }
                self.length += 1;
            }
            b'\n' | b';' => self.end_instruction(),
            // The end of a label. A colon after the name of the instruction belongs to a
            // placeholder of an operand.
            b':' if self.name[0] == 0 => self.length = 0,
            _ => {
                self.end_word(byte);
                match byte {
                    b'[' | b'(' => {
                        self.brackets += 1;
                        self.has_memory = true;
                    }
                    b']' | b')' => self.brackets = self.brackets.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }

    const fn end_word(&mut self, next: u8) {
        let word = core::mem::replace(&mut self.word, [0; WORD]);
        let length = core::mem::replace(&mut self.length, 0);
        if length == 0 {
            return;
        }
        if self.name[0] != 0 {
            if self.brackets > 0 {
                self.on_stack |= is(&word, b"rsp") || is(&word, b"esp");
            } else if next != b'(' {
                self.has_zero |= is(&word, b"0");
                self.is_linux_call |= is(&word, b"0x80") || is(&word, b"80h");
            }
        } else if is(&word, b"lock") {
            self.locked = true;
        } else if !is_prefix(&word) && length <= WORD {
            self.name = word;
        } else if length > WORD {
            self.name[0] = b'?';
        }
    }

    const fn end_line(&mut self) {
        self.comment = Comment::None;
        self.next(b'\n');
    }

    const fn end_instruction(&mut self) {
        self.end_word(b' ');
        let name = core::mem::replace(&mut self.name, [0; WORD]);
        if name[0] == 0 {
            // The line has no instruction, or only a prefix, which belongs to the next one.
            return;
        }
        let found = if is(&name, b"mfence") || is(&name, b"lfence") || is(&name, b"sfence") {
            Asm::FENCE
        } else if self.locked || (is_sized(&name, b"xchg") && self.has_memory) {
            let changes_nothing = self.has_zero
                && (is_sized(&name, b"or") || is_sized(&name, b"add") || is_sized(&name, b"sub"));
            if self.on_stack || changes_nothing {
                Asm::FENCE
            } else {
                Asm::ATOMIC
            }
        } else if is(&name, b"xbegin") || (self.has_memory && is_vector_move(&name)) {
            Asm::ATOMIC
        } else if is(&name, b"syscall")
            || is(&name, b"sysenter")
            || (is(&name, b"int") && self.is_linux_call)
        {
            Asm::SYSCALL
        } else if is(&name, b"rdtsc")
            || is(&name, b"rdtscp")
            || is(&name, b"rdrand")
            || is(&name, b"rdseed")
        {
            Asm::CHANCE
        } else {
            Asm::NOTHING
        };
        self.found = self.found.and(found);
        self.locked = false;
        self.brackets = 0;
        self.has_memory = false;
        self.on_stack = false;
        self.has_zero = false;
        self.is_linux_call = false;
    }
}

/// Whether `word` is `text`.
const fn is(word: &[u8; WORD], text: &[u8]) -> bool {
    let mut i = 0;
    while i < WORD {
        let wanted = if i < text.len() { text[i] } else { 0 };
        if word[i] != wanted {
            return false;
        }
        i += 1;
    }
    true
}

/// Whether `word` is `text`, or `text` with the letter of an operand's size.
const fn is_sized(word: &[u8; WORD], text: &[u8]) -> bool {
    let mut plain = *word;
    if matches!(plain[text.len()], b'b' | b'w' | b'l' | b'q') {
        plain[text.len()] = 0;
    }
    is(&plain, text)
}

/// Whether `word` moves 16 aligned bytes, which is one step on processors with AVX. Crates implement
/// atomics of 128 bits with it.
const fn is_vector_move(word: &[u8; WORD]) -> bool {
    is(word, b"movdqa") || is(word, b"vmovdqa") || is(word, b"movaps") || is(word, b"vmovaps")
}

/// Whether `word` is a prefix of instructions, such as `rep`, that changes no effect of an
/// instruction.
const fn is_prefix(word: &[u8; WORD]) -> bool {
    is(word, b"rep")
        || is(word, b"repe")
        || is(word, b"repz")
        || is(word, b"repne")
        || is(word, b"repnz")
        || is(word, b"xacquire")
        || is(word, b"xrelease")
        || is(word, b"data16")
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST;
    use super::*;

    #[test]
    fn fences_are_recognised_by_every_idiom() {
        for tokens in [
            r#""mfence", options(nostack)"#,
            r#""MFENCE""#,
            r#""nop; sfence""#,
            r##"r#"lfence"#"##,
            r#""2: lock or dword ptr [{0}], 0", in(reg) x"#,
            r#""lock addl $0, (%rsp)", options(att_syntax)"#,
            r#""lock add qword ptr [rsp - 8], 1""#,
            r#""lock", "orq $0, 8(%rdi)""#,
            r#""mov eax, 1\nmfence""#,
            r#""xchg qword ptr [rsp + 8], rax""#,
        ] {
            assert_eq!(Asm::of(tokens), Asm::FENCE, "{tokens}");
        }
    }

    #[test]
    fn other_atomic_instructions_are_not_taken_for_fences() {
        for tokens in [
            r#""lock not qword ptr [{0}]", in(reg) a.get(), options(nostack)"#,
            r#""xacquire", "lock", "cmpxchg [{}], {}", in(reg) self, in(reg) new"#,
            r#"concat!("lock cmpxchg16b xmmword ptr [", "rdi", "]"), "setne cl""#,
            r#"concat!("lock ", "xadd", " [{0}], 0"), in(reg) x"#,
            r#""xchg [{0}], {1}", in(reg) x, in(reg) y"#,
            r#""xchgl %eax, (%rdi)", options(att_syntax)"#,
            r#""lock addl %eax, 0(%rdi)", options(att_syntax)"#,
            r#"concat!("vmovdqa {out}, xmmword ptr [{src", "}]"), src = in(reg) src"#,
            r#""movaps (%rdi), %xmm0", options(att_syntax)"#,
        ] {
            assert_eq!(Asm::of(tokens), Asm::ATOMIC, "{tokens}");
        }
    }

    #[test]
    fn calls_of_the_kernel_and_of_chance_are_named() {
        assert_eq!(Asm::of(r#""syscall", in("rax") 0"#), Asm::SYSCALL);
        assert_eq!(Asm::of(r#""int 0x80""#), Asm::SYSCALL);
        assert_eq!(Asm::of(r#""int 3""#), Asm::NOTHING);
        assert_eq!(Asm::of(r#""rdtsc", out("eax") low"#), Asm::CHANCE);
        let both = Asm::of(r#""rdtscp", "lfence""#);
        assert_eq!(both, Asm::CHANCE.and(Asm::FENCE));
    }

    #[test]
    fn everything_else_is_left_alone() {
        for tokens in [
            r#""/*{0}*/", inout(reg) p"#,
            r##""nop // mfence", "# lock""##,
            r#""/* lock */ inc {0}", inout(reg) lock"#,
            r#""mov {save:r}, rbx", "xchg {tmp:r}, rbx", tmp = out(reg) _"#,
            r#""call {f}", f = sym syscall, clobber_abi("C")"#,
            r#""lock: jmp lock", "unlock_everything_now: nop""#,
            r#""vmovdqa xmm0, xmm1", "movups xmm1, [rdi]""#,
            r#""cpuid", in("eax") '"' as u32, out("ecx") _"#,
            "",
        ] {
            assert_eq!(Asm::of(tokens), Asm::NOTHING, "{tokens}");
        }
        let long = "nop; ".repeat(LONGEST);
        assert_eq!(Asm::of(&long), Asm::LONG);
    }
}
