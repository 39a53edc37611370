//! The shipped examples: their sources, and the expected failures.

use crate::events::Kind;

/// An example with a buggy and a corrected test.
pub(super) struct Story {
    /// The name of the example on the command line, and of its package.
    pub(super) name: &'static str,
    /// The subject of the example.
    pub(super) title: &'static str,
    /// The introduction.
    pub(super) intro: &'static str,
    /// The kind of the expected failure.
    pub(super) kind: Kind,
    /// The cause of the failure, and the fix in the corrected version.
    pub(super) lesson: &'static str,
    /// The package's files.
    pub(super) files: &'static [(&'static str, &'static str)],
}

macro_rules! files {
    ($name:literal, $test:literal) => {
        &[
            (
                "Cargo.toml",
                concat!(
                    "[package]\nname = \"",
                    $name,
                    "\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n"
                ),
            ),
            (
                "Cargo.lock",
                concat!(
                    "version = 4\n\n[[package]]\nname = \"",
                    $name,
                    "\"\nversion = \"0.1.0\"\n"
                ),
            ),
            ("src/lib.rs", file!($name, "src/lib.rs")),
            ($test, file!($name, $test)),
        ]
    };
}

macro_rules! file {
    ($name:literal, $path:expr) => {
        include_str!(concat!("../../../shipped/demo/", $name, "/", $path))
    };
}

/// All examples; the first is the default.
pub(super) const STORIES: &[Story] = &[
    Story {
        name: "bank",
        title: "a bank account loses money",
        intro: "One thread pays 50 into an account of 100, another thread takes 30 out: 120 must remain. \
                `Account::withdraw` locks the balance to read it, and locks it again to write it.",
        kind: Kind::Panic,
        lesson: "Between the read and the write the other thread paid in, and `withdraw` overwrote the new \
                 balance. Two locked steps are not one step: `withdraw_corrected` keeps the lock.",
        files: files!("bank", "tests/transfers.rs"),
    },
    Story {
        name: "abba",
        title: "two drawers block each other",
        intro: "One thread moves a thing from the left drawer to the right drawer, another thread moves a \
                thing back. `Drawer::move_one` locks its own drawer, then the other drawer.",
        kind: Kind::Deadlock,
        lesson: "Each thread holds the lock that the other waits for. `move_one_corrected` always locks \
                 the drawer with the lower number first, so there is no cycle.",
        files: files!("abba", "tests/moves.rs"),
    },
    Story {
        name: "lost-wakeup",
        title: "a wake-up comes too early",
        intro: "One thread waits at a door, another opens it. `Door::open` sets a flag and notifies, \
                without the lock under which `Door::wait` reads the flag.",
        kind: Kind::Deadlock,
        lesson: "The door was opened after the read of the flag and before the wait: no thread was waiting \
                 then, so the notification was lost. `open_corrected` sets the flag under the lock.",
        files: files!("lost-wakeup", "tests/door.rs"),
    },
];
