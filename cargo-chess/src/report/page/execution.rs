//! An execution in the form that the scripts of the page read. Each property is a list with an
//! entry for each event. Each name is stored once, and the entries are indices of names.

use std::collections::{BTreeMap, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::super::abbreviate::{called, operation, place, shown};
use super::super::names::Names;
use super::super::{fold, interleaving, panics};
use crate::analysis::{Locks, Waiting};
use crate::protocol::Finished;
use crate::text::source_path;

/// The size in bytes above which a source file is left out, because it is probably generated.
const LARGEST_FILE: u64 = 1 << 20;

/// The index that stands for no object or no file.
const NONE: i32 = -1;

/// An execution: lists with an entry for each event, and maps for properties that few events have.
#[derive(Serialize)]
pub(super) struct Execution {
    name: String,
    /// The index of the event that the page shows first.
    pub(super) start: usize,
    tasks: Vec<String>,
    ops: Vec<String>,
    objects: Vec<String>,
    task: Vec<u32>,
    op: Vec<i32>,
    object: Vec<i32>,
    file: Vec<i32>,
    line: Vec<u32>,
    column: Vec<u32>,
    read: BTreeMap<usize, String>,
    written: BTreeMap<usize, String>,
    notes: BTreeMap<usize, String>,
    /// The events of each call of the user's code into `atomic` code: the index of the first one,
    /// their number, and the called function.
    calls: Vec<(usize, usize, String)>,
    /// For events in other code, the user's statement that led to each: file and line.
    callers: BTreeMap<usize, (i32, u32)>,
    /// For each event, the events of other tasks that happen directly before it in the
    /// happens-before order.
    after: BTreeMap<usize, Vec<usize>>,
    /// The marks between events. Each has the number of events before it, its kind and its text.
    marks: Vec<(usize, &'static str, String)>,
    panics: Vec<Panic>,
    states: Vec<State>,
}

#[derive(Serialize)]
struct Panic {
    event: usize,
    task: u32,
    message: String,
}

/// A number of events, and the state after these events. Each held lock has its object, whether it
/// is shared, and its holders. Each waiting task has its number, the kind of its wait, the object,
/// and the tasks that it waits for.
type State = (
    usize,
    Vec<(i32, bool, Vec<u32>)>,
    Vec<(u32, &'static str, i32, Vec<u32>)>,
);

impl Execution {
    pub(super) fn new(name: String, finished: &Finished, files: &mut Files) -> Self {
        let names = Names::new(&finished.tasks);
        let events = &finished.events;
        let most = events.iter().map(|event| event.task).max().unwrap_or(0);
        let (mut ops, mut objects) = (Numbered::default(), Numbered::default());
        let numbered = |value: fn(&crate::protocol::Step) -> Option<&String>| {
            let values = events.iter().enumerate();
            let values = values.filter_map(|(index, event)| Some((index, value(event)?.clone())));
            values.collect::<BTreeMap<_, _>>()
        };
        let op = events.iter().map(|it| ops.number(it.op.name())).collect();
        let object = events.iter().map(|it| match shown(it.object.as_ref()) {
            Some(object) => objects.number(object),
            None => NONE,
        });
        let object = object.collect();
        let file = events.iter().map(|it| match &it.file {
            Some(file) => files.paths.number(file),
            None => NONE,
        });
        let file = file.collect();
        let calls = fold::calls(events).into_iter();
        let calls = calls.map(|(first, count)| (first, count, called(&events[first]).to_owned()));
        let callers = events.iter().enumerate().filter_map(|(index, event)| {
            let location = &event.caller.as_ref()?.location;
            let file = files.paths.number(&location.file);
            Some((index, (file, location.line)))
        });
        let callers = callers.collect();
        let notes = events.iter().enumerate();
        let notes = notes.filter_map(|(index, event)| Some((index, names.note(event.note?))));
        Self {
            name,
            calls: calls.collect(),
            callers,
            start: start(finished, &names),
            tasks: (0..=most).map(|task| names.of(task)).collect(),
            task: events.iter().map(|event| event.task).collect(),
            op,
            object,
            file,
            line: events.iter().map(|it| it.line.unwrap_or(0)).collect(),
            column: events.iter().map(|it| it.column.unwrap_or(0)).collect(),
            read: numbered(|it| it.read.as_ref()),
            written: numbered(|it| it.written.as_ref()),
            notes: notes.collect(),
            after: events
                .iter()
                .enumerate()
                .filter(|(_, event)| !event.after.is_empty())
                .map(|(index, event)| (index, event.after.clone()))
                .collect(),
            marks: marks(finished, &names),
            panics: finished.panics.iter().map(Panic::new).collect(),
            states: states(finished, &mut objects),
            ops: ops.names,
            objects: objects.names,
        }
    }
}

/// The event that the page shows first: the last event before the first preemption. Without a
/// preemption, it is the last event with a source line.
fn start(finished: &Finished, names: &Names) -> usize {
    let preemptions = interleaving::preemptions(finished, names);
    let first = preemptions.iter().map(|(event, ..)| *event).min();
    let first = first.or_else(|| {
        let with_line = finished.events.iter().rposition(|it| it.line.is_some());
        with_line.map(|index| index + 1)
    });
    first.unwrap_or_default().saturating_sub(1)
}

impl Panic {
    fn new(panic: &crate::protocol::Panic) -> Self {
        Self {
            event: panic.event,
            task: panic.task,
            message: panic.message.clone(),
        }
    }
}

/// The marks of preemptions, of panics, and of the tasks that wait at the end.
fn marks(finished: &Finished, names: &Names) -> Vec<(usize, &'static str, String)> {
    let at = |what: String, place: &str| match place {
        "" => what,
        place => format!("{what} at {place}"),
    };
    let preemptions = interleaving::preemptions(finished, names).into_iter();
    let preemptions =
        preemptions.map(|(event, what, place)| (event, "preempted", at(what, &place)));
    let panics = panics::marks(finished, names).into_iter();
    let panics = panics.map(|(event, what, place)| (event, "panics", at(what, &place)));
    let waits = finished.blocked.iter().map(|blocked| {
        let what = operation(blocked.op.name(), shown(blocked.object.as_ref()));
        let what = format!("{} waits: {what}", names.of(blocked.task));
        let place = blocked
            .shown_location()
            .as_ref()
            .map(place)
            .unwrap_or_default();
        (finished.events.len(), "waits", at(what, &place))
    });
    let mut marks: Vec<_> = preemptions.chain(panics).chain(waits).collect();
    marks.sort_by_key(|(event, ..)| *event);
    marks
}

/// The states: the holders of locks and the waiting tasks, after each event that changes them.
fn states(finished: &Finished, objects: &mut Numbered) -> Vec<State> {
    let mut locks = Locks::new(finished);
    let mut states: Vec<State> = Vec::new();
    for count in 1..=finished.events.len() {
        locks.advance_to(count);
        let held = locks.held().map(|(object, holders)| {
            let tasks = holders.tasks.iter().map(|(task, _)| *task).collect();
            (objects.number(object), holders.shared, tasks)
        });
        let held = held.collect();
        let waiting = locks.waiting().into_iter().map(|waiting| match waiting {
            Waiting::Lock {
                task,
                object,
                holders,
            } => (task, "lock", objects.number(&object), holders),
            Waiting::Notification { task, object } => {
                (task, "notification", objects.number(&object), Vec::new())
            }
            Waiting::End { task, other } => (task, "end", NONE, vec![other]),
        });
        let waiting = waiting.collect();
        let is_new = match states.last() {
            Some((_, old_held, old_waiting)) => *old_held != held || *old_waiting != waiting,
            None => true,
        };
        if is_new {
            states.push((count, held, waiting));
        }
    }
    states
}

/// Gives numbers to names.
#[derive(Default)]
struct Numbered {
    names: Vec<String>,
    numbers: HashMap<String, i32>,
}

impl Numbered {
    fn number(&mut self, name: &str) -> i32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = i32::try_from(self.names.len()).unwrap_or(NONE);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// The source files that are named in executions.
pub(super) struct Files {
    root: Utf8PathBuf,
    paths: Numbered,
}

/// A source file: its path, and its text if it can be read.
#[derive(Serialize)]
pub(super) struct File {
    path: String,
    text: Option<String>,
}

impl Files {
    pub(super) fn new(root: &Utf8Path) -> Self {
        Self {
            root: root.to_owned(),
            paths: Numbered::default(),
        }
    }

    pub(super) fn read(self) -> Vec<File> {
        let paths = self.paths.names.iter();
        let files = paths.map(|path| {
            // If the path is absolute, as for a file of a dependency, `join` returns it unchanged.
            let file = self.root.join(path);
            let is_small = file.metadata().is_ok_and(|it| it.len() <= LARGEST_FILE);
            File {
                path: source_path(path),
                text: std::fs::read_to_string(file).ok().filter(|_| is_small),
            }
        });
        files.collect()
    }
}
