//! Builds the user's tests against the facades, and says what cargo produced.

use camino::Utf8PathBuf;

/// What a build produced.
#[derive(Debug)]
pub struct Build {
    /// The test binaries, in cargo's order of packages and targets.
    pub binaries: Vec<TestBinary>,
    /// The first line of `rustc -vV`.
    pub rustc_version: String,
    /// Digest of the runtime's sources that the binaries are linked with.
    pub runtime_digest: String,
}

/// A test executable.
#[derive(Clone, Debug)]
pub struct TestBinary {
    /// The package's name.
    pub package: String,
    /// The directory of the package's manifest: the working directory of its tests.
    pub package_root: Utf8PathBuf,
    /// The identity of the binary: `bank`, `bank::t`, `bank::bin/x`, `bank::example/x`.
    pub id: String,
    /// The executable.
    pub path: Utf8PathBuf,
    /// Whether libtest's place (ours) is linked in: false for `harness = false`.
    pub harness: bool,
    /// Whether it was built against the facades: false for the unit tests of a
    /// procedural macro, which are built for the compiler's own use.
    pub swapped: bool,
    /// What `cargo test` would set in its environment.
    pub env: Vec<(String, String)>,
}
