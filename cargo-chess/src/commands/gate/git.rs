//! Queries git for the commit of the comparison and for the changes since then.

use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

use super::diff::{self, Changes};
use crate::error::{Error, Result};

/// A repository with a work tree.
#[derive(Debug)]
pub(super) struct Git {
    root: Utf8PathBuf,
}

/// The commit with which a work tree is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Base {
    /// The requested name, as in `origin/main`.
    pub(super) name: String,
    /// The commit's id.
    pub(super) commit: String,
    /// Whether the commit is the merge base, and not the named commit itself.
    pub(super) is_fork_point: bool,
}

impl Git {
    /// The repository that contains `directory`.
    pub(super) fn around(directory: &Utf8Path) -> Result<Self> {
        let found = output(directory, &["rev-parse", "--show-toplevel"])?;
        let root = found.map_err(|why| {
            Error::Usage(format!(
                "`cargo chess gate` compares with a commit, but {directory} is not in a git work tree \
                 ({why}): use `cargo chess test` to explore all tests"
            ))
        })?;
        Ok(Self {
            root: root.trim_end_matches('\n').into(),
        })
    }

    /// The root of the repository's work tree.
    pub(super) fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// The commit of the comparison for `name`: the merge base of the current commit and `name`,
    /// or `name` itself if git finds no merge base.
    pub(super) fn base(&self, name: &str) -> Result<Base> {
        // A name that begins with a dash is invalid. Git must not treat it as a flag.
        let commit = format!("{name}^{{commit}}");
        let verified = self.run(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ]);
        let Ok(commit) = verified? else {
            return Err(Error::Usage(self.missing(name)?));
        };
        let commit = commit.trim().to_owned();
        let fork = self.run(&["merge-base", &commit, "HEAD"])?;
        let fork = fork.ok().map(|fork| fork.trim().to_owned());
        Ok(Base {
            name: name.to_owned(),
            is_fork_point: fork.is_some(),
            commit: fork.unwrap_or(commit),
        })
    }

    /// Whether `name` is a commit in this repository.
    pub(super) fn knows(&self, name: &str) -> Result<bool> {
        let commit = format!("{name}^{{commit}}");
        let known = self.run(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ])?;
        Ok(known.is_ok())
    }

    /// The reason why `name` is missing, and the remedy.
    fn missing(&self, name: &str) -> Result<String> {
        let shallow = self.run(&["rev-parse", "--is-shallow-repository"])?;
        let is_shallow = shallow.is_ok_and(|it| it.trim() == "true");
        let branch = name.strip_prefix("origin/").unwrap_or(name);
        let why = if is_shallow {
            "this clone is shallow, and does not have it"
        } else {
            "this repository does not have it"
        };
        Ok(format!(
            "there is no commit `{name}` to compare with: {why}.\n\
             Fetch it: git fetch origin {branch}:refs/remotes/origin/{branch} (in a GitHub workflow: \
             `fetch-depth: 0` of actions/checkout), or name another commit with --base"
        ))
    }

    /// The changes since `base`, including uncommitted and untracked files.
    pub(super) fn changes(&self, base: &Base) -> Result<Changes> {
        let commit = &*base.commit;
        let common = [
            "-c",
            "core.quotePath=false",
            "diff",
            "--no-color",
            "--no-ext-diff",
        ];
        let names = [
            &common[..],
            &["--no-renames", "--name-only", "-z", commit, "--"],
        ]
        .concat();
        let lines = [
            &common[..],
            &[
                "--no-renames",
                "--unified=0",
                "--src-prefix=a/",
                "--dst-prefix=b/",
                commit,
                "--",
            ],
        ]
        .concat();
        let untracked = [
            "ls-files",
            "--others",
            "--exclude-standard",
            "--full-name",
            "-z",
        ];
        Ok(Changes {
            files: diff::names(&self.succeed(&names)?),
            lines: diff::lines(&self.succeed(&lines)?),
            untracked: diff::names(&self.succeed(&untracked)?),
        })
    }

    /// The text of a file at `base`; `None` if it did not exist.
    pub(super) fn before(&self, base: &Base, path: &str) -> Result<Option<String>> {
        let name = format!("{}:{path}", base.commit);
        Ok(self.run(&["show", &name])?.ok())
    }

    fn succeed(&self, args: &[&str]) -> Result<String> {
        let said = self.run(args)?;
        said.map_err(|why| Error::Usage(format!("`git {}` failed: {why}", args.join(" "))))
    }

    fn run(&self, args: &[&str]) -> Result<Result<String, String>> {
        output(&self.root, args)
    }
}

/// The output of git, or its error message.
fn output(directory: &Utf8Path, args: &[&str]) -> Result<Result<String, String>> {
    let output = Command::new("git")
        .current_dir(directory)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            Error::Usage(format!(
                "could not run git: {error}\n`cargo chess gate` asks git for the changes: install git, or \
                 explore all tests with `cargo chess test`."
            ))
        })?;
    Ok(if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.trim().replace('\n', "; "))
    })
}
