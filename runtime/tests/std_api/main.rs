//! Completeness of the shims: every stable item, method and trait
//! implementation of std's concurrency modules, as listed in the toolchain's
//! own documentation, exists with the same signature.

mod layouts;
mod rustdoc;
mod rustdoc_page;
mod signature;

use std::collections::BTreeSet;
use std::fmt::Write;

use rustdoc::Docs;
use rustdoc_page::{Member, Page};

/// A module of std for whose items there are shims.
struct Module {
    real: &'static str,
    shim: &'static str,
    /// Items that are deliberately left to std.
    kept: &'static [&'static str],
    /// The only items that are compared. An empty list means all items.
    only: &'static [&'static str],
}

const MODULES: &[Module] = &[
    Module {
        real: "std/sync",
        shim: "shim/sync",
        // Plain values, through which tasks cannot observe each other.
        kept: &["PoisonError", "TryLockError", "LockResult", "TryLockResult"],
        only: &[],
    },
    Module {
        real: "std/sync/atomic",
        shim: "shim/sync/atomic",
        kept: &["Ordering"],
        only: &[],
    },
    Module {
        real: "core/sync/atomic",
        shim: "shim/sync/atomic",
        kept: &["Ordering"],
        only: &[],
    },
    Module {
        real: "std/sync/mpsc",
        shim: "shim/sync/mpsc",
        kept: &[
            "RecvError",
            "RecvTimeoutError",
            "SendError",
            "TryRecvError",
            "TrySendError",
        ],
        only: &[],
    },
    Module {
        real: "std/thread",
        shim: "shim/thread",
        // A thread-local belongs to one task, and `panicking` reads a count that is a thread-local.
        kept: &["AccessError", "LocalKey", "Result", "panicking"],
        only: &[],
    },
    Module {
        real: "std/hint",
        shim: "shim/hint",
        kept: &[
            "assert_unchecked",
            "black_box",
            "cold_path",
            "must_use",
            "select_unpredictable",
            "unreachable_unchecked",
        ],
        only: &[],
    },
    Module {
        real: "std/cell",
        shim: "shim/cell",
        kept: &[],
        only: &["UnsafeCell"],
    },
    Module {
        real: "std/any",
        shim: "shim/any",
        kept: &[],
        only: &["type_name", "type_name_of_val"],
    },
    Module {
        real: "alloc/sync",
        shim: "shim/sync",
        kept: &[],
        only: &[],
    },
    Module {
        real: "alloc/task",
        shim: "shim/task",
        kept: &[],
        only: &[],
    },
    Module {
        real: "std/panic",
        shim: "shim/panic",
        kept: &[],
        only: &["set_hook", "take_hook"],
    },
    Module {
        real: "std/ptr",
        shim: "shim/ptr",
        kept: &[],
        only: &["drop_in_place"],
    },
];

#[test]
fn the_shims_lack_nothing_of_std() {
    let docs = Docs::get();
    let mut lacking = String::new();
    let mut compared = 0;
    for module in MODULES {
        for item in docs.items(module.real) {
            if !module.only.is_empty() && !module.only.contains(&item.name.as_str()) {
                continue;
            }
            let real = docs.real_page(module.real, &item);
            if !real.is_stable() {
                continue;
            }
            let path = format!("{}::{}", module.real.replace('/', "::"), item.name);
            let Some(shim) = docs.shim_page(module.shim, &item) else {
                writeln!(lacking, "{path}: not visible at {}", module.shim).unwrap();
                continue;
            };
            let kept = module.kept.contains(&item.name.as_str());
            if kept != shim.is_of_std() {
                let found = if kept {
                    "ours, but listed as std's"
                } else {
                    "std's own"
                };
                writeln!(lacking, "{path}: {found}").unwrap();
            }
            if !kept {
                compared += compare(&path, &real, &shim, &mut lacking);
            }
        }
    }
    assert!(lacking.is_empty(), "the shims differ from std:\n{lacking}");
    assert!(
        compared > 1000,
        "only {compared} members found: has rustdoc changed its pages?"
    );
}

#[test]
fn the_shims_have_the_interface_of_their_originals() {
    layouts::compare(Docs::get());
}

/// Compares all members of one item, and returns how many there are.
fn compare(path: &str, real: &Page, shim: &Page, lacking: &mut String) -> usize {
    let ours: BTreeSet<String> = shim.members().iter().map(Member::normalised).collect();
    let mut count = 0;
    for member in real.members().iter().filter(|member| member.is_promised()) {
        count += 1;
        let wanted = member.normalised();
        if !ours.contains(&wanted) {
            writeln!(lacking, "{path}: no `{wanted}`").unwrap();
            let nearest = ours
                .iter()
                .filter(|found| signature::name(found) == signature::name(&wanted));
            for found in nearest {
                writeln!(lacking, "{path}:    `{found}`").unwrap();
            }
        }
    }
    count
}
