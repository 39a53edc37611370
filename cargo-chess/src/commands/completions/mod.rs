//! `cargo chess completions`: a script that completes `cargo-chess ...` and `cargo chess ...`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, CompletionsArgs};
use crate::error::Result;
use crate::stdout;

const NAME: &str = "cargo-chess";

/// Prints the script for the shell that `args` name.
pub(crate) fn run(args: &CompletionsArgs) -> Result<()> {
    stdout::print(&script(args.shell))
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    let mut script = String::from_utf8(script).expect("it is text as our names are");
    if shell == Shell::Bash {
        // The generator writes the name of a state in two ways if it has a hyphen:
        // https://github.com/clap-rs/clap/issues/6421
        script = script.replace("cargo__subcmd__chess", "cargo__chess");
    }
    script += match shell {
        Shell::Bash => include_str!("cargo.bash"),
        Shell::Fish => include_str!("cargo.fish"),
        // Cargo's own completion for zsh calls a function with the name `_cargo-chess`, which is
        // in the script.
        _ => "",
    };
    script
}
