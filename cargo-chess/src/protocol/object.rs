//! The objects of operations, as reports name them.

use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

use chess_vocabulary::ObjectKind;
use serde::{Deserialize, Serialize};

use super::token;

/// The object of an operation. It dereferences to its name.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "Data")]
pub(crate) struct Object {
    /// The kind of the object.
    #[serde(with = "token")]
    pub kind: ObjectKind,
    /// The index among the objects of its kind, in the order of first use. For a task, the task's
    /// number.
    pub number: u32,
    /// The name in reports. It is made of the kind and the number, unless the sources have given a
    /// better one.
    pub name: String,
}

/// An object in a line of a test binary.
#[derive(Deserialize)]
struct Data {
    #[serde(with = "token")]
    kind: ObjectKind,
    number: u32,
    #[serde(default)]
    name: Option<String>,
}

impl From<Data> for Object {
    fn from(Data { kind, number, name }: Data) -> Self {
        let object = Self::new(kind, number);
        match name {
            Some(name) => Self { name, ..object },
            None => object,
        }
    }
}

impl Object {
    /// An object whose name is made of its kind and number.
    pub(crate) fn new(kind: ObjectKind, number: u32) -> Self {
        Self {
            kind,
            number,
            name: chess_vocabulary::Object { kind, number }.to_string(),
        }
    }

    /// The number of the task, if the object is a task.
    pub(crate) fn task(&self) -> Option<u32> {
        (self.kind == ObjectKind::Task).then_some(self.number)
    }

    /// The identity of the object in its execution, independent of its name.
    pub(crate) fn id(&self) -> (ObjectKind, u32) {
        (self.kind, self.number)
    }
}

impl Deref for Object {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The object to which the runtime gives this name, for tests.
#[cfg(test)]
impl From<&str> for Object {
    fn from(name: &str) -> Self {
        use chess_vocabulary::Token as _;

        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut kinds = ObjectKind::ALL.iter().copied();
        let kind = kinds.find(|kind| kind.words() == prefix);
        Self {
            kind: kind.unwrap_or(ObjectKind::Opaque),
            number: name[prefix.len()..].parse().unwrap_or(0),
            name: name.to_owned(),
        }
    }
}
