//! `cargo chess man`: the manual page of the tool or of one of its commands.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::{Cli, ManArgs};
use crate::error::{Error, Result};
use crate::stdout;
use crate::suggest;

/// Prints the page that `args` select on standard output.
pub(crate) fn run(args: &ManArgs) -> Result<()> {
    let mut all = Cli::command();
    all.build();
    let command = match &args.command {
        None => all,
        Some(name) => match all.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return Err(unknown(&all, name)),
        },
    };
    let mut page = Vec::new();
    render(command, &mut page).map_err(Error::io("write the page of", "cargo-chess"))?;
    stdout::print(&String::from_utf8_lossy(&page))
}

fn render(command: Command, page: &mut Vec<u8>) -> io::Result<()> {
    let exit_codes = command.get_after_help().map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let man = Man::new(command)
        .source(concat!("cargo-chess ", env!("CARGO_PKG_VERSION")))
        .manual("Cargo Manual");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if has_commands {
        man.render_subcommands_section(page)?;
    }
    if let Some(text) = exit_codes {
        let mut section = Roff::new();
        section.control("SH", ["EXIT STATUS"]).text([roman(text)]);
        section.to_writer(page)?;
    }
    Ok(())
}

fn unknown(all: &Command, name: &str) -> Error {
    let names: Vec<&str> = all.get_subcommands().map(Command::get_name).collect();
    let known = suggest::nearest(name, names.iter().copied()).map_or_else(
        || format!("the commands are: {}", names.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Error::Usage(format!("there is no command `{name}`; {known}"))
}
