//! The statements of the user's code that led to events in other code.
//!
//! For each event, a test binary reports the return addresses of the calls in progress. The
//! binary's debug information maps them to functions and source lines. Without debug information,
//! reports name no callers.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use addr2line::Loader;
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::Policy;
use crate::events::Location;
use crate::plan::{Place, Plan, PlannedPackage};
use crate::protocol::{Call, Caller, Finished};

/// Finds the callers of events in the user's code: the code of the workspace's members whose
/// policy is `preempt`.
#[derive(Default)]
pub(crate) struct Callers {
    workspace_root: Utf8PathBuf,
    packages: Vec<Package>,
    /// The debug information of the most recently used binaries. The last element is that of the
    /// last used binary. Reading debug information takes longer than the exploration of a small
    /// test.
    binaries: Mutex<Vec<DebugInfo>>,
}

/// The maximum number of binaries whose debug information is kept.
const MOST_BINARIES: usize = 4;

/// The debug information of a binary, and the frames that were looked up in it.
struct DebugInfo {
    binary: Utf8PathBuf,
    loader: Loader,
    /// The frames of each return address that was looked up.
    frames: HashMap<u64, Vec<Frame>>,
}

struct Package {
    /// The prefix of the compiler's names of the package's files.
    prefix: String,
    is_member: bool,
    policy: Policy,
    places: Vec<(Place, Policy)>,
}

/// A function that has not returned, and its current place in the source.
#[derive(Clone, Debug)]
struct Frame {
    function: Option<String>,
    /// Whether the function drops a value.
    drops: bool,
    location: Option<Location>,
}

impl Callers {
    /// Creates the lookup for the packages of `plan`.
    pub(crate) fn new(plan: &Plan) -> Self {
        let package = |it: &PlannedPackage| Package {
            prefix: it.source_prefix.clone(),
            is_member: it.is_member,
            policy: it.policy,
            places: it.places.clone(),
        };
        Self {
            workspace_root: plan.workspace_root.clone(),
            packages: plan.packages.iter().map(package).collect(),
            binaries: Mutex::default(),
        }
    }

    /// Takes the debug information of `binary` out of `binaries`. If it is not there, reads it
    /// from the file. Returns `None` if it cannot be read.
    fn debug_info(&self, binary: &Utf8Path) -> Option<DebugInfo> {
        let mut kept = self.binaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|it| it.binary == binary) {
            return Some(kept.remove(at));
        }
        drop(kept);
        Some(DebugInfo {
            binary: binary.to_owned(),
            loader: Loader::new(binary).ok()?,
            frames: HashMap::new(),
        })
    }

    /// Puts debug information back into `binaries`, for the next execution of its binary.
    fn keep(&self, info: DebugInfo) {
        let mut kept = self.binaries.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MOST_BINARIES {
            kept.remove(0);
        }
        kept.push(info);
    }

    /// Sets the caller of each event and of each blocked task in `finished`, the verdict on a test
    /// of `binary`. Sets no callers if the debug information of `binary` cannot be read.
    pub(super) fn find(&self, binary: &Utf8Path, finished: &mut Finished) {
        let calls = std::mem::take(&mut finished.calls);
        if calls.is_empty() {
            return;
        }
        let Some(info) = self.debug_info(binary) else {
            return;
        };
        let mut stack = Stack {
            info,
            root: &self.workspace_root,
            calls,
        };
        // The calls in progress at the previous event of each task.
        let mut last: HashMap<u32, HashSet<u32>> = HashMap::new();
        let mut find = |task: u32, call: &mut Option<u32>, file: Option<&String>| {
            let call = call.take()?;
            let frames = stack.frames_from(call);
            let calls = frames.iter().map(|(call, _)| *call).collect();
            let before = last.insert(task, calls).unwrap_or_default();
            if file.is_some_and(|file| self.is_users(file)) {
                return None;
            }
            let (call, mut caller) = self.caller(frames)?;
            caller.is_atomic |= file.is_some_and(|file| self.is_atomic(file));
            caller.goes_on = before.contains(&call);
            Some(caller)
        };
        for step in &mut finished.events {
            step.caller = find(step.task, &mut step.call, step.file.as_ref());
        }
        for task in &mut finished.blocked {
            task.caller = find(task.task, &mut task.call, task.file.as_ref());
        }
        self.keep(stack.info);
    }

    /// Returns the innermost of `frames` in the user's code as a caller, and the number of its
    /// call. The caller contains the name of the function that this frame called. Returns `None`
    /// if no frame is in the user's code.
    fn caller(&self, frames: Vec<(u32, Frame)>) -> Option<(u32, Caller)> {
        let (mut function, mut drops) = (None, false);
        let mut is_atomic = false;
        for (call, frame) in frames {
            match frame.location {
                Some(location) if self.is_users(&location.file) => {
                    let caller = Caller {
                        location,
                        function,
                        drops,
                        is_atomic,
                        goes_on: false,
                    };
                    return Some((call, caller));
                }
                Some(location) => is_atomic |= self.is_atomic(&location.file),
                None => {}
            }
            // Code made by the compiler has no name. If the user's code called such code, the
            // called function is the one that this code called.
            if frame.function.is_some() {
                (function, drops) = (frame.function, frame.drops);
            }
        }
        None
    }

    fn is_users(&self, file: &str) -> bool {
        let owner = self.owner(file);
        owner.is_some_and(|it| it.is_member && it.policy_of(file) == Policy::Preempt)
    }

    fn is_atomic(&self, file: &str) -> bool {
        let owner = self.owner(file);
        owner.is_some_and(|it| it.policy_of(file) == Policy::Atomic)
    }

    /// The package that a file belongs to: the innermost one, because a package may lie in another
    /// one's directory.
    fn owner(&self, file: &str) -> Option<&Package> {
        let owns = |it: &&Package| {
            let is_relative = !it.prefix.starts_with('/');
            file.starts_with(&it.prefix) && is_relative != file.starts_with('/')
        };
        let owners = self.packages.iter().filter(owns);
        owners.max_by_key(|it| it.prefix.len())
    }
}

impl Package {
    fn policy_of(&self, file: &str) -> Policy {
        let places = self.places.iter();
        let places = places.filter(|(place, _)| place.lines.is_none() && place.covers(file));
        let innermost = places.max_by_key(|(place, _)| place.path.len());
        innermost.map_or(self.policy, |(_, policy)| *policy)
    }
}

/// The calls of an execution, and the debug information of its binary. The debug information maps
/// the return addresses of the calls to frames.
struct Stack<'a> {
    info: DebugInfo,
    root: &'a Utf8Path,
    calls: Vec<Call>,
}

impl Stack<'_> {
    /// Returns the frames of `call` and of the calls that contain it, each with the number of its
    /// call. The innermost frame comes first.
    fn frames_from(&mut self, call: u32) -> Vec<(u32, Frame)> {
        let mut frames = Vec::new();
        let mut next = Some(call);
        while let Some(number) = next
            && let Some(&(within, address)) = self.calls.get(number as usize)
        {
            if !self.info.frames.contains_key(&address) {
                let found = self.look_up(address);
                self.info.frames.insert(address, found);
            }
            let found = self.info.frames[&address].iter();
            frames.extend(found.map(|frame| (number, frame.clone())));
            // A call is made within a call of a lower number, so this loop ends.
            next = within.filter(|within| *within < number);
        }
        frames
    }

    /// Returns the frames of a return address: the functions that were inlined there, the
    /// innermost one first, and then the function that contains them.
    fn look_up(&self, address: u64) -> Vec<Frame> {
        let mut found = Vec::new();
        // The return address is that of the instruction after the call. The byte before it belongs
        // to the call.
        let Ok(mut frames) = self.info.loader.find_frames(address.saturating_sub(1)) else {
            return found;
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|it| it.demangle().ok());
            let location = frame.location.and_then(|it| {
                Some(Location {
                    file: self.name_of(it.file?),
                    line: it.line?,
                    column: it.column.unwrap_or(1).max(1),
                })
            });
            found.push(Frame {
                function: name.as_deref().and_then(short_name),
                drops: name.as_deref().is_some_and(drops),
                location,
            });
        }
        found
    }

    /// Returns a file's path in the form that the events' locations have.
    fn name_of(&self, file: &str) -> String {
        let inside = Utf8Path::new(file).strip_prefix(self.root);
        inside.map_or_else(|_| file.to_owned(), ToString::to_string)
    }
}

/// The compiler's function that drops a value.
const DROP_GLUE: &str = "drop_in_place";

/// Whether a function drops a value, as `Drop::drop` and the compiler's drop glue do.
fn drops(demangled: &str) -> bool {
    let segments = segments(demangled);
    let last = segments
        .iter()
        .rfind(|it| !it.starts_with('{') && !it.is_empty());
    last.is_some_and(|it| it == "drop" || it == DROP_GLUE)
}

/// A function's name in short form: `DashMap::insert` for `dashmap::DashMap<K,V,S>::insert`,
/// `tokio::spawn` for `tokio::task::spawn::spawn`.
fn short_name(demangled: &str) -> Option<String> {
    let segments = segments(demangled);
    let is_named = |it: &&String| !it.starts_with('{') && !it.is_empty();
    let named: Vec<&String> = segments.iter().filter(is_named).collect();
    let (last, before) = named.split_last()?;
    if *last == DROP_GLUE {
        let (_, dropped) = demangled.split_once("drop_in_place<")?;
        let dropped = self::segments(dropped.strip_suffix('>').unwrap_or(dropped));
        return Some(format!("drop of {}", dropped.iter().rfind(is_named)?));
    }
    let is_type = |it: &&&String| it.starts_with(char::is_uppercase);
    let owner = before.last().filter(is_type).or_else(|| before.first());
    Some(owner.map_or_else(|| (*last).clone(), |owner| format!("{owner}::{last}")))
}

/// The segments of a path, without generic arguments. For `<T as Trait>::f`, these are the
/// segments of `T`, and then `f`.
fn segments(path: &str) -> Vec<String> {
    let path = match path.strip_prefix('<') {
        None => path.to_owned(),
        Some(rest) => {
            let end = end_of_angles(rest);
            let (inside, after) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
            let of_type = inside.split(" as ").next().unwrap_or_default();
            format!("{}{after}", of_type.trim_start_matches(['&', '*']))
        }
    };
    let mut depth = 0_usize;
    let mut plain = String::new();
    for (at, c) in path.char_indices() {
        match c {
            '<' => depth += 1,
            // The arrow of a function's type.
            '>' if path[..at].ends_with('-') => {}
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.split("::").map(|it| it.trim().to_owned()).collect()
}

/// The position in `text` of the `>` that closes the `<` directly before `text`. Returns the
/// length of `text` if there is no such `>`.
fn end_of_angles(text: &str) -> usize {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_as_people_write_them() {
        for (name, short) in [
            ("dashmap::DashMap<K,V,S>::insert", "DashMap::insert"),
            (
                "<dashmap::DashMap<K,V,S> as dashmap::t::Map<K,V,S>>::_get",
                "DashMap::_get",
            ),
            (
                "tokio::sync::mpsc::bounded::Sender<T>::send::{{closure}}",
                "Sender::send",
            ),
            ("tokio::task::spawn::spawn", "tokio::spawn"),
            ("<&T as core::fmt::Debug>::fmt", "T::fmt"),
            (
                "core::ptr::drop_in_place<dashmap::mapref::one::Ref<alloc::string::String,u32>>",
                "drop of Ref",
            ),
            (
                "queue::apply::<fn(u8) -> u8, queue::Ring<u8>>",
                "queue::apply",
            ),
            ("main", "main"),
        ] {
            assert_eq!(short_name(name).as_deref(), Some(short), "{name}");
        }
    }

    #[test]
    fn the_innermost_frame_of_the_users_code_is_the_caller() {
        let package = |prefix: &str, is_member, policy| Package {
            prefix: prefix.into(),
            is_member,
            policy,
            places: Vec::new(),
        };
        let callers = Callers {
            workspace_root: "/w".into(),
            binaries: Mutex::default(),
            packages: vec![
                package("", true, Policy::Preempt),
                package("crates/queue/", true, Policy::Atomic),
                package("/registry/map-1.0.0/", false, Policy::Preempt),
            ],
        };
        let frame = |function: &str, file: &str, line| Frame {
            function: Some(function.into()),
            drops: false,
            location: Some(Location {
                file: file.into(),
                line,
                column: 5,
            }),
        };
        let frames = [
            frame("load", "/cargo-chess/runtime/atomic.rs", 1),
            frame("Map::find", "/registry/map-1.0.0/src/lib.rs", 2),
            frame("Queue::push", "crates/queue/src/lib.rs", 3),
            frame("buy", "src/lib.rs", 25),
            frame("main", "src/main.rs", 7),
        ];
        let frames: Vec<(u32, Frame)> = (0..).zip(frames).collect();
        let (call, found) = callers.caller(frames.clone()).expect("a caller");
        assert_eq!(call, 3);
        assert!(found.is_atomic);
        assert_eq!(found.location.to_string(), "src/lib.rs:25");
        assert_eq!(found.function.as_deref(), Some("Queue::push"));
        assert_eq!(callers.caller(frames[..3].to_vec()), None);
    }
}
