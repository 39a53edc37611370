//! Tests with machine code that rustc 1.95 made, and with changes of it.

use iced_x86::{Decoder, DecoderOptions, FlowControl};

use super::*;

/// `push rbp; mov rbp, rsp; sub rsp, 16; mov [rbp-16], rdi`
const ENTRY: &str = "55 4889e5 4883ec10 48897df0";
const CALL: &str = "e8 00000000";
/// `add rsp, 16; pop rbp; ret`
const EXIT: &str = "4883c410 5d c3";

/// `mov rdi, [rbp-16]; mov rax, [rdi]; mov [rbp-8], rax; add rdi, 8`
const FIRST_IS_LOADED: &str = "488b7df0 488b07 488945f8 4883c708";
/// `mov rdi, [rbp-16]; add rdi, 8`
const FIRST_IS_NOT_LOADED: &str = "488b7df0 4883c708";
/// `mov rax, [rbp-8]; cmp rax, 1; sete al; and al, 1`
const COMPARISON: &str = "488b45f8 4883f801 0f94c0 2401";
/// `mov rax, [rbp-16]; cmp qword ptr [rax+8], 1; sete al`
const COMPARISON_WITH_SECOND: &str = "488b45f0 4883780801 0f94c0";

const NONE: [usize; 0] = [];

/// The calls that announce dead reads, by their positions among the calls. `calls` has the sizes of
/// the reads that the calls announce. A call of size 0 is that of another function.
fn dead(code: &[&str], calls: &[u64]) -> Vec<usize> {
    dead_in(code, calls, false)
}

/// As [`dead`]. `stores_discriminants` states that the code is that of a function such as
/// `core::mem::discriminant`.
fn dead_in(code: &[&str], calls: &[u64], stores_discriminants: bool) -> Vec<usize> {
    let digits: Vec<u32> = code
        .iter()
        .flat_map(|part| part.chars())
        .filter_map(|it| it.to_digit(16))
        .collect();
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|byte| u8::try_from(byte[0] * 16 + byte[1]).expect("a byte"))
        .collect();
    let instructions: Vec<Instruction> = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE)
        .into_iter()
        .collect();
    assert!(instructions.iter().all(|it| !it.is_invalid()));
    let is_call = |it: &Instruction| {
        matches!(
            it.flow_control(),
            FlowControl::Call | FlowControl::IndirectCall
        )
    };
    let mut sizes = calls.iter();
    let targets: Vec<_> = instructions
        .iter()
        .map(|it| {
            let size = is_call(it).then(|| sizes.next().expect("the size of each call"))?;
            Some(match size {
                0 => Target::Unknown,
                _ => Target::Hook(Hook::Read(*size)),
            })
        })
        .collect();
    assert_eq!(sizes.next(), None);
    let position = |call: usize| instructions[..call].iter().filter(|it| is_call(it)).count();
    let mut dead: Vec<_> = find(&instructions, &targets, stores_discriminants)
        .into_iter()
        .map(|it| position(it.call))
        .collect();
    dead.sort_unstable();
    dead
}

#[test]
fn a_payload_beside_a_discriminant_is_not_read() {
    // `Option::<u64>::is_some`
    let code = [ENTRY, CALL, FIRST_IS_LOADED, CALL, COMPARISON, EXIT];
    assert_eq!(dead(&code, &[8, 8]), [1]);
}

#[test]
fn a_returned_discriminant_needs_no_payload() {
    // `mem::discriminant`: `mov rax, [rbp-8]`. A copy of the pair could have the same code.
    let code = [ENTRY, CALL, FIRST_IS_LOADED, CALL, "488b45f8", EXIT];
    assert_eq!(dead_in(&code, &[8, 8], true), [1]);
    assert_eq!(dead(&code, &[8, 8]), NONE);
}

#[test]
fn a_payload_beside_a_niche_is_not_read_by_a_drop() {
    // `drop_in_place::<Option<Node>>`, where a node has a `Box` and an `UnsafeCell<u32>`:
    // `mov rdx, [rbp-8]; mov eax, 1; xor ecx, ecx; cmp rdx, 0; cmove rax, rcx; cmp rax, 0; jne`
    let choice = "488b55f8 b801000000 31c9 4883fa00 480f44c1 4883f800 7506";
    // `mov rdi, [rbp-16]`, the call of `drop_in_place::<Node>`, a jump to the exit
    let drop = ["488b7df0", CALL, "ebef"].concat();
    let code = [ENTRY, CALL, FIRST_IS_LOADED, CALL, choice, EXIT, &drop];
    assert_eq!(dead(&code, &[8, 4, 0]), [1]);
}

#[test]
fn halves_of_four_bytes_are_recognised() {
    // `matches!(*p, Ok(_))` of a `Result<u32, u32>`:
    // `mov rdi, [rbp-16]; mov eax, [rdi]; mov [rbp-8], eax; add rdi, 4`
    let first = "488b7df0 8b07 8945f8 4883c704";
    // `mov eax, [rbp-8]; mov eax, eax; test rax, 1; je`
    let choice = "8b45f8 89c0 48a901000000 7406";
    let code = [ENTRY, CALL, first, CALL, choice, "c645ff00 c645ff01", EXIT];
    assert_eq!(dead(&code, &[4, 4]), [1]);
}

#[test]
fn halves_of_one_byte_are_recognised() {
    // `mov rdi, [rbp-16]; movzx eax, byte ptr [rdi]; mov [rbp-8], rax; inc rdi`
    let load = "488b7df0 0fb607 488945f8 48ffc7";
    let code = [ENTRY, CALL, load, CALL, COMPARISON, EXIT];
    assert_eq!(dead(&code, &[1, 1]), [1]);
}

#[test]
fn a_payload_before_a_discriminant_is_not_read() {
    // `matches!(*p, Some(_))` of an `Option<(UnsafeCell<u8>, bool)>`, with a load in a comparison:
    // `mov rdi, [rbp-16]; add rdi, 1`
    let second = "488b7df0 4883c701";
    // `mov rdi, [rbp-16]; mov eax, 1; xor ecx, ecx; cmp byte ptr [rdi+1], 2; cmove rax, rcx;
    // cmp rax, 1; jne`
    let choice = "488b7df0 b801000000 31c9 807f0102 480f44c1 4883f801 7506";
    let code = [ENTRY, CALL, second, CALL, choice, "c645ff01", EXIT];
    assert_eq!(dead(&code, &[1, 1]), [0]);
}

/// `lea rdi, [rip+0x1000]` at 0x100c, the call, and `mov rax, [rip+..]` of the same address;
/// `mov [rbp-8], rax`
const STATIC_IS_LOADED: [&str; 3] = ["488d3d00100000", CALL, "488b05f40f0000 488945f8"];

#[test]
fn a_payload_in_a_static_is_not_read() {
    // `if let Enum::Never = STATIC`, where the other variant has 16 bytes. The discriminant has 16,
    // too, and half of them is loaded: `lea rdi, [rip+..]`, and
    // `mov rax, [rbp-8]; cmp rax, 0; sete`
    let [first, call, load] = STATIC_IS_LOADED;
    let second = "488d3df90f0000";
    let choice = "488b45f8 4883f800 0f94c0";
    let code = [ENTRY, first, call, load, second, CALL, choice, EXIT];
    assert_eq!(dead(&code, &[16, 16]), [1]);
    // The second address is not that of the other half.
    let elsewhere = "488d3d01100000";
    let code = [ENTRY, first, call, load, elsewhere, CALL, choice, EXIT];
    assert_eq!(dead(&code, &[16, 16]), NONE);
    // The payload is compared: `cmp qword ptr [rip+..], 0`
    let compared = "48833dec0f000000 0f94c0";
    let code = [ENTRY, first, call, load, second, CALL, compared, EXIT];
    assert_eq!(dead(&code, &[16, 16]), NONE);
}

#[test]
fn both_halves_may_be_read() {
    // `mov rcx, [rbp-16]; mov rcx, [rcx+8]`
    let second = "488b4df0 488b4908";
    let code = [ENTRY, CALL, FIRST_IS_LOADED, CALL, second, COMPARISON, EXIT];
    assert_eq!(dead(&code, &[8, 8]), NONE);
    let folded = [
        ENTRY,
        CALL,
        FIRST_IS_LOADED,
        CALL,
        COMPARISON_WITH_SECOND,
        EXIT,
    ];
    assert_eq!(dead(&folded, &[8, 8]), NONE);
}

#[test]
fn a_pair_of_which_nothing_is_loaded_is_read_by_the_program() {
    let code = [ENTRY, CALL, FIRST_IS_NOT_LOADED, CALL, COMPARISON, EXIT];
    assert_eq!(dead(&code, &[8, 8]), NONE);
}

#[test]
fn a_copied_pair_is_read_by_the_program() {
    // `let x = *p; x.0`: `mov rax, [rbp-8]`
    let code = [ENTRY, CALL, FIRST_IS_LOADED, CALL, "488b45f8", EXIT];
    assert_eq!(dead(&code, &[8, 8]), NONE);
}

#[test]
fn a_load_in_the_next_call_counts() {
    // `mov rax, [rbp-16]; mov rcx, [rbp-8]; test rcx, rcx; call [rax+8]`
    let call = "488b45f0 488b4df8 4885c9 ff5008";
    let code = [ENTRY, CALL, FIRST_IS_LOADED, CALL, call, EXIT];
    assert_eq!(dead(&code, &[8, 8, 0]), NONE);
}

#[test]
fn other_loads_make_it_unclear() {
    for other in [
        "488b02",             // mov rax, [rdx]
        "488b04cf",           // mov rax, [rdi+rcx*8]
        "488b0500000000",     // mov rax, [rip]
        "64488b042500000000", // mov rax, fs:[0]
        "488b442408",         // mov rax, [rsp+8]
        "f348a5",             // rep movsq
        "488b45f0 8b4008",    // mov rax, [rbp-16]; mov eax, [rax+8]
        "488b45f0 488b4006",  // mov rax, [rbp-16]; mov rax, [rax+6]
        "488b45f0 0f104008",  // mov rax, [rbp-16]; movups xmm0, [rax+8]
    ] {
        let code = [ENTRY, CALL, FIRST_IS_LOADED, CALL, other, COMPARISON, EXIT];
        assert_eq!(dead(&code, &[8, 8]), NONE, "{other}");
    }
}

#[test]
fn two_reads_that_are_no_pair_are_those_of_the_program() {
    // Other distances, or another pointer.
    for between in [
        "488b7df0 488b07 488945f8 4883c710",          // add rdi, 16
        "488b7df0 488b07 488945f8 4883ef08",          // sub rdi, 8
        "488b7df0 488b07 488945f8 488b7de8",          // mov rdi, [rbp-24]
        "488b7df0 488b07 488945f8 488b38 4883c708",   // mov rdi, [rax]; add rdi, 8
        "488b7df0 488b07 488945f0 488b7df0 4883c708", // the slot of the pointer is overwritten
    ] {
        let code = [ENTRY, CALL, between, CALL, COMPARISON, EXIT];
        assert_eq!(dead(&code, &[8, 8]), NONE, "{between}");
    }
    // Another call, or a jump, is between them.
    let call = [
        ENTRY,
        CALL,
        FIRST_IS_LOADED,
        CALL,
        FIRST_IS_NOT_LOADED,
        CALL,
        COMPARISON,
        EXIT,
    ];
    assert_eq!(dead(&call, &[8, 0, 8]), NONE);
    let jump = [
        ENTRY,
        CALL,
        "488b7df0 488b07 488945f8",
        "eb00",
        FIRST_IS_NOT_LOADED,
        CALL,
    ];
    assert_eq!(
        dead(&[&jump[..], &[COMPARISON, EXIT]].concat(), &[8, 8]),
        NONE
    );
    // `je; mov rdi, [rbp-16]`, with a jump to the code between the calls, or to that after both.
    for (jump, expected) in [("7414", &NONE[..]), ("7421", &[1])] {
        let label = [
            ENTRY,
            jump,
            "488b7df0",
            CALL,
            "488b7df0 488b07 488945f8",
            FIRST_IS_NOT_LOADED,
            CALL,
            COMPARISON,
            EXIT,
        ];
        assert_eq!(dead(&label, &[8, 8]), expected, "{jump}");
    }
}

#[test]
fn reads_of_the_stack_are_those_of_the_program() {
    // `lea rdi, [rbp-16]` instead of `mov rdi, [rbp-16]`: the load may be `mov rax, [rbp-8]`.
    let first = "488d7df0 488b07 4883c708";
    let entry = "55 4889e5 4883ec10 488d7df0";
    let code = [entry, CALL, first, CALL, COMPARISON, EXIT];
    assert_eq!(dead(&code, &[8, 8]), NONE);
}

#[test]
fn nothing_is_recognised_in_optimised_code() {
    // `push rbp; mov rbp, rsp; push rbx; mov rbx, rdi`
    let entry = "55 4889e5 53 4889fb";
    // `mov rax, [rbx]; mov [rbp-8], rax; lea rdi, [rbx+8]`
    let first = "488b03 488945f8 488d7b08";
    let code = [entry, CALL, first, CALL, COMPARISON, "5b 5d c3"];
    assert_eq!(dead(&code, &[8, 8]), NONE);
    // Without a frame.
    let entry = "4883ec10 48897df0";
    let code = [entry, CALL, FIRST_IS_LOADED, CALL, COMPARISON, EXIT];
    assert_eq!(dead(&code, &[8, 8]), NONE);
}

#[test]
fn addresses_may_be_kept_in_the_frame_across_calls() {
    // `mov rax, [rbp-16]; add rax, 8; mov [rbp-24], rax`, and a call of another function
    let kept = ["488b45f0 4883c008 488945e8", CALL].concat();
    // `mov rdi, [rbp-16]`, the call, `mov rax, [rbp-16]; mov rdi, [rbp-24]; mov rax, [rax];
    // mov [rbp-8], rax`
    let first = ["488b7df0", CALL, "488b45f0 488b7de8 488b00 488945f8"].concat();
    let code = [ENTRY, &kept, &first, CALL, COMPARISON, EXIT];
    assert_eq!(dead(&code, &[0, 8, 8]), [1 + 1]);
    // Another instruction writes the kept address, or takes the address of its word: `mov [rbp-24],
    // rcx`, or `lea rcx, [rbp-24]`
    for other in ["48894de8", "488d4de8"] {
        let code = [ENTRY, &kept, other, CALL, &first, CALL, COMPARISON, EXIT];
        assert_eq!(dead(&code, &[0, 0, 8, 8]), NONE, "{other}");
    }
}

/// `mov [rbp-24], rsi`
const OTHER_ENTRY: &str = "488975e8";
/// `mov rdi, [rbp-24]`
const OTHER: &str = "488b7de8";
/// `mov rdi, [rbp-24]; mov rax, [rdi]; mov [rbp-32], rax; add rdi, 8`
const FIRST_OF_OTHER_IS_LOADED: &str = "488b7de8 488b07 488945e0 4883c708";
/// `mov rdi, [rbp-24]; add rdi, 8`
const FIRST_OF_OTHER_IS_NOT_LOADED: &str = "488b7de8 4883c708";
/// `mov rcx, [rbp-8]; mov rax, [rbp-32]; cmp rax, rcx`, and `je` to the next instruction
const COMPARISON_OF_FIRST: &str = "488b4df8 488b45e0 4839c8 7400";

/// The code of a derived `==`. `between` is the code between the reads of the two values, `other`
/// the code after the first announcement for the other value, and `end` the code at the end.
fn equality<'a>(between: &'a str, other: &'a str, end: &'a str) -> Vec<&'a str> {
    let entry = [ENTRY, OTHER_ENTRY, CALL, FIRST_IS_LOADED, CALL];
    [&entry[..], &[between, OTHER, CALL, other, CALL, end, EXIT]].concat()
}

#[test]
fn an_equality_of_two_enums_reads_no_payload() {
    let code = equality("", FIRST_OF_OTHER_IS_LOADED, COMPARISON_OF_FIRST);
    assert_eq!(dead(&code, &[8, 8, 8, 8]), [1, 3]);
}

#[test]
fn two_copied_pairs_that_are_not_compared_are_read_by_the_program() {
    let code = equality("", FIRST_OF_OTHER_IS_LOADED, "");
    assert_eq!(dead(&code, &[8, 8, 8, 8]), NONE);
}

#[test]
fn a_pair_that_is_used_before_another_read_is_read_by_the_program() {
    // `mov rax, [rbp-24]; mov [rax], rax`
    let store = "488b45e8 488900";
    let code = equality(store, FIRST_OF_OTHER_IS_LOADED, COMPARISON_OF_FIRST);
    assert_eq!(dead(&code, &[8, 8, 8, 8]), [3]);
}

#[test]
fn a_comparison_of_different_halves_is_none_of_discriminants() {
    // The code loads the second half of the other pair: `mov rdi, [rbp-24]; mov rax, [rdi+8]; mov
    // [rbp-32], rax`.
    let end = ["488b7de8 488b4708 488945e0", COMPARISON_OF_FIRST].concat();
    let code = equality("", FIRST_OF_OTHER_IS_NOT_LOADED, &end);
    assert_eq!(dead(&code, &[8, 8, 8, 8]), [2]);
}
