//! Methods of pointers and of `MaybeUninit` that create a reference, recognized by name.

use super::Kind;

/// A method without arguments that borrows memory, if its receiver is a pointer or memory that may
/// be uninitialized. The hook checks this by the type of the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Method {
    pub(super) kind: Kind,
    pub(super) hook: &'static str,
}

/// Returns the method with this `name`, if such a method may borrow memory. The caller checks that
/// the call has no arguments.
pub(super) fn named(name: &str) -> Option<Method> {
    let (kind, hook) = match name {
        "as_ref" | "assume_init_ref" | "as_ref_unchecked" => {
            (Kind::BorrowThrough, "borrow_through")
        }
        "as_mut" | "assume_init_mut" | "as_mut_unchecked" => {
            (Kind::BorrowMutThrough, "borrow_mut_through")
        }
        "drop_in_place" | "assume_init_drop" => (Kind::DropThrough, "drop_through"),
        _ => return None,
    };
    Some(Method { kind, hook })
}
