//! Tests of the list of a file's uses of inline assembly.

use rewriter::{Asm, inline_asm};

fn list(text: &str) -> Vec<(usize, bool)> {
    let found = inline_asm(text).unwrap();
    found
        .into_iter()
        .map(|Asm { line, synchronizes }| (line, synchronizes))
        .collect()
}

#[test]
fn each_use_is_listed_with_its_line() {
    let text = "#!/bin/sh\nfn f() {\n    unsafe { core::arch::asm!(\"nop\") };\n}\n\
                global_asm!(\"f: ret\");\n#[naked] fn g() { std::arch::naked_asm! [\"ret\"] }\n";
    assert_eq!(list(text), [(3, false), (5, false), (6, false)]);
}

#[test]
fn instructions_that_synchronize_are_distinguished_from_others() {
    for template in [
        "\"lock not qword ptr [rsp]\"",
        "\"mov {0}, 1\", \"XCHG {0}, [{1}]\"",
        "\"xchgq %rax, (%rdi)\"",
        "concat!(\"lock cmpxchg16\", \"b [rdi]\")",
        "\"mfence\"",
        "\"nop; lfence\"",
        "r#\"sfence\"#",
        "\"syscall\"",
        "\"lock\\nxadd {0}, {1}\"",
    ] {
        let text = format!("fn f() {{ asm!({template}, in(\"rdi\") x, options(nostack)) }}");
        assert_eq!(list(&text), [(1, true)], "{template}");
    }
    for arguments in [
        "\"cpuid\", inout(\"eax\") lock => _",
        "\"mov {clock}, 1\", clock = out(reg) x",
        "\"pause\"",
        "\"blocked:\"",
    ] {
        let text = format!("fn f() {{ asm!({arguments}) }}");
        assert_eq!(list(&text), [(1, false)], "{arguments}");
    }
}

#[test]
fn tokens_of_macros_count() {
    let text = "macro_rules! fence { () => { asm!(\"mfence\") } }\ncfg_if! {\n if #[cfg(x)] { fn f() { asm!(\"nop\") } } }";
    assert_eq!(list(text), [(1, true), (3, false)]);
}

#[test]
fn names_and_texts_are_not_uses() {
    assert_eq!(
        list(
            "use std::arch::asm; // asm!(\"lock\")\nfn asm() { asm(); x != asm; \"asm!(lock)\"; }"
        ),
        []
    );
    assert_eq!(list("/// asm!(\"mfence\")\nfn f() {}"), []);
}

#[test]
fn text_that_is_not_rust_is_an_error() {
    assert!(inline_asm("asm!(\"").is_err());
}
