//! The unit that cargo compiles, read from rustc's arguments.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A unit that is compiled for the tests.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Unit {
    /// The crate's name.
    pub(super) crate_name: String,
    /// The suffix that cargo appends to file names, to distinguish units of the same crate name.
    pub(super) extra: String,
    /// The root file, in cargo's form.
    pub(super) source: PathBuf,
    /// The directory of the products.
    pub(super) out_dir: PathBuf,
    /// Whether the unit is a library for other crates (`lib` or `rlib`), and not a test binary.
    pub(super) is_library: bool,
}

impl Unit {
    /// Reads rustc's arguments. Returns `None` if they compile nothing for the tests.
    ///
    /// Build scripts, procedural macros and their dependencies have no `--target`. The probes of
    /// build scripts have no `metadata`, because cargo did not start them.
    pub(super) fn parse(args: &[OsString]) -> Option<Self> {
        let mut has_target = false;
        let mut has_metadata = false;
        let mut unit = Self {
            crate_name: String::new(),
            extra: String::new(),
            source: PathBuf::new(),
            out_dir: PathBuf::new(),
            is_library: false,
        };
        let mut is_test = false;
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let (name, inline) = split(arg);
            let value = |rest: &mut std::slice::Iter<'_, OsString>| {
                inline.clone().or_else(|| rest.next().cloned())
            };
            match name.as_bytes() {
                b"--target" => has_target = value(&mut rest).is_some(),
                b"--crate-name" => unit.crate_name = text(value(&mut rest)),
                b"--out-dir" => unit.out_dir = value(&mut rest).unwrap_or_default().into(),
                b"--crate-type" => {
                    let kinds = text(value(&mut rest));
                    unit.is_library = kinds.split(',').any(|it| matches!(it, "lib" | "rlib"));
                }
                b"--test" => is_test = true,
                b"-C" => {
                    let option = text(value(&mut rest));
                    has_metadata |= option.starts_with("metadata=");
                    if let Some(extra) = option.strip_prefix("extra-filename=") {
                        extra.clone_into(&mut unit.extra);
                    }
                }
                b"--cfg"
                | b"--check-cfg"
                | b"--extern"
                | b"-L"
                | b"-l"
                | b"--emit"
                | b"-A"
                | b"-W"
                | b"-D"
                | b"-F"
                | b"-Z"
                | b"--edition"
                | b"--error-format"
                | b"--json"
                | b"--cap-lints"
                | b"--diagnostic-width" => drop(value(&mut rest)),
                _ if unit.source.as_os_str().is_empty()
                    && Path::new(arg).extension().is_some_and(|it| it == "rs") =>
                {
                    unit.source = arg.into();
                }
                _ => {}
            }
        }
        unit.is_library &= !is_test;
        (has_target && has_metadata && !unit.source.as_os_str().is_empty()).then_some(unit)
    }

    /// The file in which rustc lists the files of the unit.
    pub(super) fn dep_info(&self) -> PathBuf {
        self.out_dir
            .join(format!("{}{}.d", self.crate_name, self.extra))
    }
}

/// Whether cargo queries the configuration of the tests' target.
pub(super) fn asks_for_cfg(args: &[OsString]) -> bool {
    let has = |wanted: &str| args.iter().any(|arg| arg == wanted);
    has("--print=cfg") && has("--target")
}

/// An argument's name, and its value if it is in the same word.
fn split(arg: &OsString) -> (OsString, Option<OsString>) {
    use std::os::unix::ffi::OsStringExt;
    let bytes = arg.as_bytes();
    if bytes.starts_with(b"--") {
        if let Some(at) = bytes.iter().position(|byte| *byte == b'=') {
            let value = OsString::from_vec(bytes[at + 1..].to_vec());
            return (OsString::from_vec(bytes[..at].to_vec()), Some(value));
        }
    } else if bytes.len() > 2 && bytes.starts_with(b"-C") {
        return ("-C".into(), Some(OsString::from_vec(bytes[2..].to_vec())));
    }
    (arg.clone(), None)
}

fn text(value: Option<OsString>) -> String {
    value.unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Unit> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Unit::parse(&args)
    }

    #[test]
    fn units_for_the_target_are_found_in_both_spellings() {
        let unit = parse(
            "--crate-name bank --edition=2021 crates/bank/src/lib.rs --error-format=json \
             --crate-type lib --emit=dep-info,metadata,link -C metadata=1 -C extra-filename=-2 \
             --out-dir /t/deps --target x86_64-unknown-linux-gnu --extern a=/t/liba.rs",
        );
        let unit = unit.expect("a unit for the target");
        assert_eq!(unit.crate_name, "bank");
        assert_eq!(unit.source, Path::new("crates/bank/src/lib.rs"));
        assert_eq!(unit.dep_info(), Path::new("/t/deps/bank-2.d"));
        assert!(unit.is_library);
        assert!(parse("src/lib.rs --target=x86_64-unknown-linux-gnu -Cmetadata=1").is_some());
    }

    #[test]
    fn test_binaries_and_programs_are_no_libraries() {
        let common = "--target x -C metadata=1 --crate-name t";
        let unit = parse(&format!("{common} src/lib.rs --crate-type lib --test"));
        assert!(!unit.expect("a unit").is_library);
        let unit = parse(&format!("{common} src/main.rs --crate-type bin"));
        assert!(!unit.expect("a unit").is_library);
    }

    #[test]
    fn build_scripts_and_procedural_macros_stay_as_they_are() {
        let line = "--crate-name build_script_build build.rs -C metadata=1";
        assert_eq!(parse(line), None);
    }

    #[test]
    fn probes_of_build_scripts_stay_as_they_are() {
        let line = "--edition=2021 --emit=dep-info,metadata probe.rs --target x86_64-unknown-linux";
        assert_eq!(parse(line), None);
        assert_eq!(parse("-vV"), None);
    }
}
