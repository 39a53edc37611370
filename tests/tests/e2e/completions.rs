//! Shell completion of the tool's commands, flags and values, and its manual pages.

use end_to_end::{Chess, Run, Workspace, needs};

/// A script for bash that prints the completions of its arguments. They are the words of a command
/// line, and the last word is incomplete.
const ASK_BASH: &str = r#"
"$CHESS" completions bash > completions.bash
# What cargo brings for itself: here it only has to be asked.
_cargo() { COMPREPLY=(of-cargo); }
complete -F _cargo cargo
. ./completions.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
[[ $(complete -p "$1") =~ -F\ ([^ ]+) ]]
"${BASH_REMATCH[1]}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Returns the lines that `shell` prints for `script` with `words` as arguments, or `None` if the
/// shell is not installed.
fn ask(shell: &str, options: &[&str], script: &str, words: &[&str]) -> Option<Vec<String>> {
    if !needs(&[shell]) {
        return None;
    }
    let workspace = Workspace::empty();
    workspace.write("ask", script);
    let script = format!("exec {shell} {} ./ask \"$@\"", options.join(" "));
    let mut call: Chess = workspace.shell(&script).arg(shell);
    for word in words {
        call = call.arg(word);
    }
    let run: Run = call.run();
    run.assert_code(0);
    assert_eq!(run.stderr, "", "{run:?}");
    let mut lines: Vec<_> = run.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    Some(lines)
}

fn bash(words: &[&str]) -> Vec<String> {
    ask("bash", &["--norc", "-u"], ASK_BASH, words).expect("Debian cannot be without bash")
}

#[test]
fn bash_completes_commands_flags_and_values() {
    assert_eq!(bash(&["cargo-chess", "ga"]), ["gate"]);
    assert_eq!(bash(&["cargo-chess", "test", "--preem"]), ["--preemptions"]);
    assert_eq!(bash(&["cargo-chess", "test", "--races", "w"]), ["warn"]);
    assert_eq!(
        bash(&["cargo-chess", "test", "--strategy", "p"]),
        ["pct", "pos"]
    );
    assert_eq!(
        bash(&["cargo-chess", "init", "--ci", "git"]),
        ["github", "gitlab"]
    );
}

#[test]
fn bash_completes_cargo_chess_as_cargo_chess_and_the_rest_as_before() {
    assert_eq!(
        bash(&["cargo", "chess", "test", "--preem"]),
        ["--preemptions"]
    );
    assert_eq!(bash(&["cargo", "+stable", "chess", "ga"]), ["gate"]);
    assert_eq!(bash(&["cargo", "chess", "explain", "--ht"]), ["--html"]);
    assert_eq!(bash(&["cargo", "build", "--rel"]), ["of-cargo"]);
    assert_eq!(bash(&["cargo", "che"]), ["of-cargo"]);
    assert_eq!(bash(&["cargo", "build", "chess", "t"]), ["of-cargo"]);
}

#[test]
fn fish_completes_both_ways() {
    const ASK: &str = "$CHESS completions fish | source\ncomplete -C \"$argv\" | string replace -r '\\t.*' ''; true\n";
    let ask = |line: &str| ask("fish", &["--no-config"], ASK, &[line]);
    if ask("").is_none() {
        return;
    }
    let expect = |line: &str, expected: &str| {
        assert_eq!(ask(line).expect("it is there"), [expected], "{line}");
    };
    expect("cargo-chess test --preem", "--preemptions");
    expect("cargo chess test --preem", "--preemptions");
    expect("cargo chess te", "test");
    expect("cargo +stable chess test --races w", "warn");
}

#[test]
fn zsh_understands_its_script() {
    const ASK: &str = "autoload -U compinit && compinit -u -D\n\"$CHESS\" completions zsh > _cargo-chess\n\
                       source ./_cargo-chess\nprint ${_comps[cargo-chess]}\n";
    if let Some(function) = ask("zsh", &["-f"], ASK, &[]) {
        // This is the name that cargo's own completion also looks up.
        assert_eq!(function, ["_cargo-chess"]);
    }
}

#[test]
fn other_shells_have_a_script() {
    for shell in ["elvish", "powershell"] {
        let run = Workspace::empty().chess(&["completions", shell]).run();
        run.assert_code(0);
        assert!(run.stdout.contains("--preemptions"), "{run:?}");
    }
    let run = Workspace::empty().chess(&["completions", "tcsh"]).run();
    run.assert_code(1);
    assert!(
        run.stderr.contains("bash, elvish, fish, powershell, zsh"),
        "{run:?}"
    );
}

#[test]
fn each_command_has_a_manual_page_without_a_flaw() {
    let workspace = Workspace::empty();
    let is_shown = needs(&["man"]);
    let page = |args: &[&str]| {
        let run = workspace.chess(&[&["man"], args].concat()).run();
        run.assert_code(0);
        workspace.write("page.1", &run.stdout);
        assert!(run.stdout.contains(".TH cargo-chess"), "{run:?}");
        let synopsis = format!("\\fBcargo chess {}", args.join(" "));
        assert!(run.stdout.contains(synopsis.trim_end()), "{run:?}");
        if is_shown {
            let script = "LC_ALL=C.UTF-8 man --warnings -l page.1";
            let run = workspace.shell(script).run();
            run.assert_code(0);
            assert_eq!(run.stderr, "", "{args:?}");
            assert!(!run.stdout.is_empty(), "{run:?}");
        }
        run.stdout
    };
    let all = page(&[]);
    for command in [
        "test", "list", "replay", "explain", "rewrite", "gate", "merge", "init",
    ] {
        assert!(all.contains(command), "{command}\n{all}");
        page(&[command]);
    }
    let run = workspace.chess(&["man", "repaly"]).run();
    run.assert_code(1);
    assert!(run.stderr.contains("did you mean `replay`?"), "{run:?}");
}
