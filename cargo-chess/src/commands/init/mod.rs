//! `cargo chess init`: writes a Chess.toml with every key in comments, and the job of a CI service.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};

use camino::Utf8Path;

use crate::cli::{FeatureArgs, InitArgs, Service};
use crate::error::{Error, Result};
use crate::plan::Workspace;
use crate::shell::Shell;
use crate::toolchain::Toolchain;

const CHESS_TOML: &str = include_str!("Chess.toml");

impl Service {
    /// The path of the file with the job, and its text.
    const fn job(self) -> (&'static str, &'static str) {
        match self {
            Self::Github => (".github/workflows/chess.yml", include_str!("github.yml")),
            Self::Gitlab => ("chess.gitlab-ci.yml", include_str!("gitlab.yml")),
        }
    }
}

/// Writes the files that do not exist yet.
///
/// # Errors
/// If all files exist: an existing file is never changed.
pub(crate) fn run(args: &InitArgs) -> Result<()> {
    let shell = args.output.shell();
    let toolchain = Toolchain::find()?;
    let features = FeatureArgs::default();
    let root = Workspace::find(&toolchain, &args.manifest, &features, None)?.root;
    let mut written = write_new(&root, "Chess.toml", CHESS_TOML, shell)?;
    if let Some(service) = args.ci {
        let (path, job) = service.job();
        written |= write_new(&root, path, job, shell)?;
    }
    if !written {
        return Err(Error::Usage(
            "all files exist already; none was changed".to_owned(),
        ));
    }
    Ok(())
}

/// Writes the file, unless it exists. Returns whether it was written.
fn write_new(root: &Utf8Path, name: &str, text: &str, shell: Shell) -> Result<bool> {
    let path = root.join(name);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(Error::io("create the directory", directory))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    match file {
        Ok(mut file) => {
            let written = file.write_all(text.as_bytes());
            written.map_err(Error::io("write", &path))?;
            shell.status("Wrote", name);
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            shell.status("Kept", format!("{name}, which exists already"));
            Ok(false)
        }
        Err(error) => Err(Error::io("write", &path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Layer};

    fn load(text: &str) -> Config {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        fs::write(root.join("Chess.toml"), text).unwrap();
        Config::load(root, None, [], &Layer::default()).expect("it is understood")
    }

    #[test]
    fn the_file_changes_nothing_and_names_every_key() {
        let of = |config: &Config| config.for_test("any");
        assert_eq!(of(&load(CHESS_TOML)), of(&load("")));
        for (key, _) in crate::config::KEYS {
            let named = CHESS_TOML.lines().filter(|line| line.starts_with("# "));
            let mut named = named.filter(|line| line[2..].starts_with(&format!("{key} =")));
            assert!(named.next().is_some(), "{key}");
        }
    }

    #[test]
    fn each_comment_of_the_file_states_the_default() {
        // This section has the defaults, in comments.
        let section = CHESS_TOML.split("[policy]").next().unwrap();
        let (general, own): (Vec<&str>, Vec<&str>) = section
            .lines()
            // These keys have no default.
            .filter(|line| {
                let keys = ["time", "time-total", "schedules"];
                !keys
                    .iter()
                    .any(|key| line.starts_with(&format!("# {key} =")))
            })
            .partition(|line| !line.contains(" = "));
        assert!(general.iter().any(|line| line.starts_with("[explore]")));
        let lines = own.iter().map(|line| line.trim_start_matches("# "));
        let explicit = format!("[explore]\n{}\n", lines.collect::<Vec<_>>().join("\n"));
        let of = |config: &Config| config.for_test("any");
        assert_eq!(of(&load(&explicit)), of(&load("")));
    }
}
