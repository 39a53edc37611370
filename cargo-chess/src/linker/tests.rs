//! Tests with files that a C compiler and `ar` made.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::elf::{self, Symbol};
use super::stubs::{assembly, is_instrumented};
use super::{archive, inputs};

const SOURCE: &str = "
    extern int elsewhere(void);
    int number = 1;
    static int hidden(void) { return elsewhere(); }
    int shown(void) { return hidden() + number; }
    __asm__(\".globl label\\nlabel: ret\");
";

fn run(directory: &Path, program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    let status = command.current_dir(directory).args(args).status();
    assert!(status.is_ok_and(|it| it.success()), "{program} {args:?}");
}

/// A directory with the object `code.o`.
fn compiled() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("it can be made");
    fs::write(directory.path().join("code.c"), SOURCE).expect("it can be written");
    run(directory.path(), "cc", &["-c", "-fPIC", "code.c"]);
    directory
}

fn functions(bytes: &[u8]) -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    super::stubs::functions_of(bytes, &mut functions);
    functions
}

fn both() -> BTreeSet<String> {
    ["label", "shown"].map(str::to_owned).into()
}

#[test]
fn an_object_has_the_functions_that_others_can_call() {
    let directory = compiled();
    let bytes = fs::read(directory.path().join("code.o")).expect("it was made");
    assert_eq!(functions(&bytes), both());
    let symbols = elf::symbols(&bytes);
    assert!(symbols.contains(&Symbol::Other("number")));
    assert!(symbols.contains(&Symbol::Undefined("elsewhere")));
    // A file that was cut off must not cause a panic.
    for length in (0..bytes.len()).step_by(7) {
        _ = elf::symbols(&bytes[..length]);
    }
}

#[test]
fn a_shared_library_has_the_functions_that_it_exports() {
    let directory = compiled();
    run(
        directory.path(),
        "cc",
        &["-shared", "-nostdlib", "-o", "libcode.so", "code.o"],
    );
    let bytes = fs::read(directory.path().join("libcode.so")).expect("it was made");
    assert!(functions(&bytes).is_superset(&both()));
    assert!(!functions(&bytes).contains("hidden"));
}

#[test]
fn an_object_is_instrumented_if_it_calls_hooks_at_known_lines() {
    let directory = compiled();
    for (flags, expected) in [
        (&["-g"][..], false),
        (&["-fsanitize=thread", "-g0"], false),
        (&["-fsanitize=thread", "-g"], true),
    ] {
        let args = [&["-c", "-fPIC", "code.c"], flags].concat();
        run(directory.path(), "cc", &args);
        let bytes = fs::read(directory.path().join("code.o")).expect("it was made");
        assert_eq!(is_instrumented(&bytes), expected, "{flags:?}");
    }
}

#[test]
fn members_of_archives_are_found_whatever_their_names_and_kind() {
    let directory = compiled();
    let long = "a_name_that_is_longer_than_sixteen_bytes.o";
    fs::copy(directory.path().join("code.o"), directory.path().join(long)).expect("copied");
    for (name, how) in [("libcode.a", "rcs"), ("libthin.a", "rcsT")] {
        run(directory.path(), "ar", &[how, name, "code.o", long]);
        let members = archive::members(&directory.path().join(name));
        let members = members.expect("it can be read").expect("it is an archive");
        let names: Vec<_> = members.iter().map(|member| &*member.name).collect();
        assert_eq!(names, ["code.o", long], "{name}");
        for member in members {
            let bytes = member.read().expect("it can be read");
            assert_eq!(functions(&bytes), both(), "{name}");
        }
    }
    let object = archive::members(&directory.path().join("code.o"));
    assert!(object.expect("it can be read").is_none());
}

#[test]
fn inputs_are_found_as_the_linker_finds_them() {
    let directory = compiled();
    let root = directory.path();
    run(root, "ar", &["rcs", "libcode.a", "code.o"]);
    fs::write(
        root.join("libcode.so"),
        "GROUP ( libreal.so AS_NEEDED ( -lmore ) )",
    )
    .expect("text");
    fs::write(root.join("libreal.so"), "").expect("a file");
    fs::write(root.join("libmore.a"), "").expect("a file");
    fs::write(root.join("rest"), "-lcode\n\"-lc\"\n").expect("a file");
    let found = |line: &str| {
        let args = line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let mut args = args;
        args.push("-L".into());
        args.push(root.into());
        let files = inputs::files(&inputs::words(&args));
        let names = files.iter().map(|file| file.file_name().expect("a name"));
        let names: Vec<_> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.join(" ")
    };
    assert_eq!(found("-lcode -lc -lgcc_s"), "libreal.so libmore.a");
    assert_eq!(found("-Wl,-Bstatic -lcode -Wl,-Bdynamic"), "libcode.a");
    assert_eq!(found("-l:libcode.a -o program"), "libcode.a");
    assert_eq!(found("code.o -l code"), "code.o libreal.so libmore.a");
    let rest = format!("@{}", root.join("rest").display());
    assert_eq!(found(&rest), "libreal.so libmore.a");
}

#[test]
fn stubs_assemble_whatever_the_functions_are_called() {
    let directory = compiled();
    let names = ["shown", "cxxbridge1$shown", "_ZN4boot4loadEv"];
    let text = assembly(&names.map(str::to_owned).into());
    fs::write(directory.path().join("stubs.s"), text).expect("it can be written");
    run(directory.path(), "cc", &["-c", "stubs.s"]);
    let bytes = fs::read(directory.path().join("stubs.o")).expect("it was made");
    let symbols = elf::symbols(&bytes);
    assert!(symbols.contains(&Symbol::Function("__wrap_cxxbridge1$shown")));
    assert!(symbols.contains(&Symbol::Undefined("__real_cxxbridge1$shown")));
}
