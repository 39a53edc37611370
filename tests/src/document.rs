//! Markdown whose code blocks can be run.

/// A fenced block of code.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first word after the opening fence.
    pub language: String,
    /// The text after the language and a comma, for instance `file=src/lib.rs`.
    pub note: String,
    /// The text of a comment directly before the block.
    pub mark: String,
    /// The lines of the block.
    pub lines: Vec<String>,
}

impl Block {
    /// Returns the name of the file whose content the block is, or `None` if the block is not the
    /// content of a file.
    pub fn file(&self) -> Option<&str> {
        self.note.strip_prefix("file=")
    }

    /// Returns the name of the file in which the block replaces the method that has the same
    /// signature. Returns `None` if the block replaces no method.
    pub fn file_of_method(&self) -> Option<&str> {
        self.note.strip_prefix("method=")
    }

    /// Returns the commands of this block, each with the lines of its output. In `sh`, each line
    /// that is not empty is a command without output. In `console`, a command starts with `$ `, and
    /// the lines up to the next command are its output. Other blocks have no commands.
    pub fn commands(&self) -> Vec<(String, Vec<String>)> {
        let mut commands: Vec<(String, Vec<String>)> = Vec::new();
        for line in &self.lines {
            match (&*self.language, line.strip_prefix("$ ")) {
                ("sh", _) if line.is_empty() => {}
                ("sh", _) => commands.push((line.clone(), Vec::new())),
                ("console", Some(command)) => commands.push((command.to_owned(), Vec::new())),
                ("console", None) => {
                    let (_, output) = commands.last_mut().expect("a command comes first");
                    output.push(line.clone());
                }
                _ => {}
            }
        }
        commands
    }
}

/// Returns all blocks of `text`.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut mark = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let comment = line.strip_prefix("<!-- ");
        if let Some(comment) = comment.and_then(|it| it.strip_suffix(" -->")) {
            comment.clone_into(&mut mark);
            continue;
        }
        if let Some(head) = line.strip_prefix("```") {
            let (language, note) = head.split_once(',').unwrap_or((head, ""));
            let inner = lines.by_ref().take_while(|line| *line != "```");
            blocks.push(Block {
                language: language.to_owned(),
                note: note.to_owned(),
                mark: mark.clone(),
                lines: inner.map(str::to_owned).collect(),
            });
        }
        mark.clear();
    }
    blocks
}

/// Returns `source` with `replacement` in place of the method that has the same signature.
///
/// # Panics
///
/// If `source` has no method of this signature.
pub fn with_method(source: &str, replacement: &str) -> String {
    let signature = replacement.lines().next().expect("it has a first line");
    let start = source.find(signature).expect("the method is there");
    let end = "\n    }\n";
    let length = source[start..].find(end).expect("the method ends") + end.len();
    format!(
        "{}{replacement}\n{}",
        &source[..start],
        &source[start + length..]
    )
}
