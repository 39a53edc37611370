//! The names of tasks in a report.

use std::collections::HashMap;

use chess_vocabulary::{Note, TaskId};

use crate::protocol::Task;

/// The name of each task of an execution.
pub(super) struct Names(HashMap<u32, String>);

impl Names {
    /// Creates the names of `tasks`. Task 0 is `main`. The other tasks have the names that the
    /// program gave them. If several tasks have the same name, the numbers of these tasks are
    /// added to it.
    pub(super) fn new(tasks: &[Task]) -> Self {
        let given = |task: &Task| match &task.name {
            _ if task.id == 0 => Some("main".to_owned()),
            Some(name) if !name.is_empty() => Some(name.clone()),
            _ => None,
        };
        let mut uses: HashMap<String, u32> = HashMap::new();
        for name in tasks.iter().filter_map(given) {
            *uses.entry(name).or_default() += 1;
        }
        let unique = |task: &Task| match given(task) {
            None => called(task.id),
            Some(name) if uses[&name] > 1 && task.id != 0 => format!("{name}#{}", task.id),
            Some(name) => name,
        };
        Self(tasks.iter().map(|task| (task.id, unique(task))).collect())
    }

    /// The name of task `id`.
    pub(super) fn of(&self, id: u32) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| called(id))
    }

    /// The note on an operation in words: a choice of the search, or the task that the operation
    /// woke.
    pub(super) fn note(&self, note: Note) -> String {
        let woken = note
            .woken()
            .map_or_else(String::new, |task| self.of(task.0));
        note.in_words(&woken).to_string()
    }
}

/// The name of task `id` if the program gave it no name.
pub(super) fn called(id: u32) -> String {
    TaskId(id).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_program_and_unique() {
        let task = |id, name: Option<&str>| Task {
            id,
            name: name.map(str::to_owned),
        };
        let tasks = [
            task(0, Some("transfer_is_atomic")),
            task(1, None),
            task(2, Some("worker")),
            task(3, Some("worker")),
            task(4, Some("logger")),
        ];
        let names = Names::new(&tasks);
        let all: Vec<String> = (0..6).map(|id| names.of(id)).collect();
        assert_eq!(names.note(Note::wakes(TaskId(4))), "wakes logger");
        assert_eq!(
            all,
            ["main", "task 1", "worker#2", "worker#3", "logger", "task 5"]
        );
    }
}
