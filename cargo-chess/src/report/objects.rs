//! Names of objects, taken from the expressions in the sources: `stock`, `self.head`.
//!
//! The runtime names an object by a letter for its kind and a number. This name stays if the
//! sources give no better one.

use std::collections::{BTreeMap, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use chess_vocabulary::ObjectKind;
use rewriter::Subjects;

use crate::events::{Covered, Kind, Location};
use crate::protocol::{Blocked, Finished, Step};

/// If more objects than this share an expression, they are distinguished by numbers instead of
/// letters.
const MOST_LETTERS: usize = 26;

/// The names of objects in one execution. Several executions can share them, if the runtime gives
/// each object the same name in all of these executions.
pub(crate) struct Objects {
    root: Utf8PathBuf,
    /// The subjects of the calls in each file: the expressions that the calls act on. `None` for a
    /// file that cannot be read.
    files: HashMap<String, Option<Subjects>>,
    subjects: HashMap<(String, u32, u32), Option<String>>,
    /// The names that were found for objects.
    names: BTreeMap<Id, String>,
    /// For each expression, the number of objects that it names.
    uses: HashMap<String, usize>,
}

/// An object of an execution.
type Id = (ObjectKind, u32);

/// The expressions in the sources that act on an object. One of them becomes the object's name.
#[derive(Default)]
struct Evidence {
    /// The best expression of the user's code, and its rank.
    own: Option<(u8, String)>,
    /// Whether other code used the object in an event without a caller in the user's code.
    is_used_alone: bool,
    /// The user's statements that call other code in which the object is used, and the receivers of
    /// these calls.
    called_on: Vec<(Location, Option<String>)>,
    /// The first expression of other code.
    inner: Option<String>,
}

impl Objects {
    /// Creates the names for executions whose sources lie below `root`.
    pub(crate) fn new(root: &Utf8Path) -> Self {
        Self {
            root: root.to_owned(),
            files: HashMap::new(),
            subjects: HashMap::new(),
            names: BTreeMap::new(),
            uses: HashMap::new(),
        }
    }

    /// Replaces the runtime's names by the names from the sources.
    pub(crate) fn apply(&mut self, finished: &mut Finished) {
        let waits = finished.blocked.iter().map(Blocked::to_step);
        let steps: Vec<Step> = finished.events.iter().cloned().chain(waits).collect();
        self.learn(&steps);
        let events = finished.events.iter_mut().map(|it| &mut it.object);
        let waits = finished.blocked.iter_mut().map(|it| &mut it.object);
        for object in events.chain(waits).flatten() {
            if let Some(name) = self.names.get(&object.id()) {
                object.name.clone_from(name);
            }
        }
        // The message of a deadlock contains names of objects. The messages of other failures do
        // not change.
        if finished.kind == Some(Kind::Deadlock) && !finished.blocked.is_empty() {
            finished.message = Some(finished.deadlock());
        }
    }

    /// Sets the object of each operation in the pairs of `covered`: the expression that the
    /// operation acts on.
    pub(crate) fn name_operations(&mut self, covered: &mut Covered) {
        for pair in &mut covered.pairs {
            for operation in [&mut pair.first, &mut pair.second] {
                operation.object = self.subject(&operation.location);
            }
        }
    }

    /// Finds names for the objects that have no names yet.
    fn learn(&mut self, steps: &[Step]) {
        let mut order: Vec<Id> = Vec::new();
        let mut evidence: HashMap<Id, Evidence> = HashMap::new();
        for step in steps {
            let object = step.object.as_ref();
            let Some(object) = object.filter(|it| it.kind.has_expression()) else {
                continue;
            };
            let object = object.id();
            if self.names.contains_key(&object) {
                continue;
            }
            if !evidence.contains_key(&object) {
                order.push(object);
            }
            self.add(evidence.entry(object).or_default(), step);
        }
        let found = order.into_iter().filter_map(|object| {
            let expression = evidence.remove(&object)?.expression()?;
            Some((object, expression))
        });
        let found: Vec<(Id, String)> = found.collect();
        let is_arc = |object: &Id| object.0 == ObjectKind::Arc;
        let others: Vec<&String> = found
            .iter()
            .filter(|(object, _)| !is_arc(object))
            .map(|(_, expression)| expression)
            .collect();
        let found: Vec<(Id, String)> = found
            .iter()
            .map(|(object, expression)| {
                // The value in the `Arc` has the same expression.
                let name = if is_arc(object) && others.contains(&expression) {
                    format!("{expression} ({})", ObjectKind::Arc.words())
                } else {
                    expression.clone()
                };
                (*object, name)
            })
            .collect();
        let mut all: HashMap<&str, usize> = HashMap::new();
        for (_, expression) in &found {
            *all.entry(expression).or_default() += 1;
        }
        for (object, expression) in &found {
            let used = self.uses.entry(expression.clone()).or_default();
            *used += 1;
            let name = match all[expression.as_str()] {
                1 if *used == 1 => expression.clone(),
                ..=MOST_LETTERS => format!("{expression} {}", letters(*used)),
                _ => format!("{expression} {used}"),
            };
            self.names.insert(*object, name);
        }
    }

    fn add(&mut self, evidence: &mut Evidence, step: &Step) {
        if let Some(caller) = &step.caller {
            let called_on = self.subject(&caller.location);
            evidence
                .called_on
                .push((caller.location.clone(), called_on));
        }
        let is_own =
            step.caller.is_none() && step.file.as_ref().is_some_and(|it| !it.starts_with('/'));
        evidence.is_used_alone |= step.caller.is_none() && !is_own;
        let Some(subject) = step.location().and_then(|it| self.subject(&it)) else {
            return;
        };
        if is_own {
            let rank = rank(&subject);
            if evidence.own.as_ref().is_none_or(|(best, _)| rank > *best) {
                evidence.own = Some((rank, subject));
            }
        } else if evidence.inner.is_none() {
            evidence.inner = Some(subject);
        }
    }

    /// The expression that the call at a place acts on.
    fn subject(&mut self, place: &Location) -> Option<String> {
        let key = (place.file.clone(), place.line, place.column);
        if let Some(known) = self.subjects.get(&key) {
            return known.clone();
        }
        let root = &self.root;
        let file = self.files.entry(place.file.clone()).or_insert_with(|| {
            // If the path is absolute, as for a file of a dependency, `join` returns it unchanged.
            let text = std::fs::read_to_string(root.join(&place.file)).ok()?;
            Subjects::of(&text).ok()
        });
        let found = file.as_ref().and_then(|it| it.at(place.line, place.column));
        self.subjects.insert(key, found.clone());
        found
    }
}

impl Evidence {
    /// The expression that names the object; `None` if there is none. The first of these that
    /// exists:
    ///
    /// 1. An expression in the user's code.
    /// 2. The receiver of the user's calls that led to the object. It must be the same in all
    ///    statements for which it is known. These must be at least two, and more than half of the
    ///    statements. It is not used if other code also used the object without such a call.
    /// 3. An expression in other code.
    fn expression(self) -> Option<String> {
        if let Some((_, own)) = self.own {
            return Some(own);
        }
        let mut statements = self.called_on.clone();
        statements.sort_by_key(|(at, _)| (at.file.clone(), at.line, at.column));
        statements.dedup();
        let known = statements.iter().filter_map(|(_, on)| on.as_ref());
        let known: Vec<&String> = known.collect();
        let on = known.first().copied().filter(|on| {
            let is_same = known.iter().all(|it| it == on);
            // The drop of a returned value, such as a guard, has no expression, so this statement
            // is unknown.
            let unknown = statements.len() - known.len();
            !self.is_used_alone && is_same && known.len() > unknown.max(1)
        });
        on.cloned().or(self.inner)
    }
}

/// The rank of an expression by its information: statics have the highest rank, and then fields,
/// and then variables.
fn rank(expression: &str) -> u8 {
    let last = expression.rsplit("::").next().unwrap_or_default();
    let is_static = last
        .chars()
        .all(|c| c.is_uppercase() || c.is_ascii_digit() || c == '_');
    match expression {
        _ if is_static => 2,
        it if it.contains('.') => 1,
        _ => 0,
    }
}

/// The letters of a number: `A` for 1 to `Z` for 26, then `AA`.
fn letters(number: usize) -> String {
    let (mut rest, mut text) = (number, String::new());
    while rest > 0 {
        rest -= 1;
        let letter = u8::try_from(rest % 26).map_or('A', |it| char::from(b'A' + it));
        text.insert(0, letter);
        rest /= 26;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Outcome;
    use chess_vocabulary::Op;

    use crate::protocol::{self, Caller};

    const SOURCE: &str = "\
fn buy(shop: &Shop) {
    let left = shop.stock.load(SeqCst);
    stock.store(left - 1, SeqCst);
    let shared = Arc::clone(&queue);
    queue.lock().unwrap().push(1);
    slots[i].lock();
    both!(a, b);
    shop.jobs.push(1);
    shop.jobs.pop();
}
";

    fn step(object: &str, line: u32, call: &str) -> Step {
        let text = SOURCE.lines().nth(line as usize - 1).expect("a line");
        let column = text.find(call).expect("the call") + 1;
        Step {
            object: Some(object.into()),
            file: Some("lib.rs".into()),
            line: Some(line),
            column: u32::try_from(column).ok(),
            ..protocol::step(0, Op::AtomicLoad)
        }
    }

    /// An event in a dependency, whose sources cannot be read.
    fn inside(object: &str, line: u32, call: &str) -> Step {
        let own = step(object, line, call);
        Step {
            caller: Some(Caller {
                location: own.location().expect("it has one"),
                function: None,
                drops: false,
                is_atomic: true,
                goes_on: false,
            }),
            file: Some("/registry/queue/src/lib.rs".into()),
            ..own
        }
    }

    fn named(steps: Vec<Step>) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("a UTF-8 path");
        std::fs::write(root.join("lib.rs"), SOURCE).expect("writable");
        let mut finished = Finished::new(Outcome::Failed);
        finished.events = steps;
        Objects::new(&root).apply(&mut finished);
        finished
            .events
            .into_iter()
            .filter_map(|it| it.object)
            .map(|it| it.name)
            .collect()
    }

    #[test]
    fn an_object_has_one_name_and_a_field_says_more_than_a_variable() {
        let names = named(vec![
            step("A1", 3, "store"),
            step("A1", 2, "load"),
            step("task 2", 7, "both"),
        ]);
        assert_eq!(names, ["shop.stock", "shop.stock", "task 2"]);
    }

    #[test]
    fn letters_distinguish_objects_of_one_name() {
        let names = named(vec![
            step("M1", 6, "lock"),
            step("M2", 6, "lock"),
            step("M1", 6, "lock"),
        ]);
        assert_eq!(names, ["slots[i] A", "slots[i] B", "slots[i] A"]);
        let all: Vec<String> = [1, 26, 27, 53].map(letters).into();
        assert_eq!(all, ["A", "Z", "AA", "BA"]);
    }

    #[test]
    fn an_arc_and_its_contents_are_distinguished() {
        let names = named(vec![step("Arc1", 4, "Arc::clone"), step("M1", 5, "lock")]);
        assert_eq!(names, ["queue (Arc)", "queue"]);
    }

    #[test]
    fn an_object_that_a_macro_hides_keeps_its_letter_and_number() {
        assert_eq!(named(vec![step("M7", 7, "both")]), ["M7"]);
    }

    #[test]
    fn an_object_that_several_calls_on_one_object_touch_is_part_of_it() {
        let names = named(vec![
            inside("A1", 8, "push"),
            inside("A2", 8, "push"),
            inside("A1", 9, "pop"),
        ]);
        assert_eq!(names, ["shop.jobs", "A2", "shop.jobs"]);
    }

    #[test]
    fn a_deadlock_is_printed_with_the_names() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("a UTF-8 path");
        std::fs::write(root.join("lib.rs"), SOURCE).expect("writable");
        let wait: Blocked = serde_json::from_value(serde_json::json!({
            "task": 1,
            "op": "MutexLock",
            "object": { "kind": "mutex", "number": 1 },
            "file": "lib.rs",
            "line": 6,
            "column": SOURCE.lines().nth(5).expect("a line").find("lock"). expect("the call") + 1,
            "holder": 0,
        }))
        .expect("as the runtime tells it");
        let mut finished = Finished {
            kind: Some(Kind::Deadlock),
            blocked: vec![wait],
            ..Finished::new(Outcome::Failed)
        };
        Objects::new(&root).apply(&mut finished);
        assert_eq!(
            finished.message.as_deref(),
            Some(
                "no task can continue: task 1 waits in Mutex::lock for slots[i] at lib.rs:6, held by main"
            )
        );
    }
}
