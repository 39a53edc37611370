//! Methods of pointers and of `MaybeUninit` that access memory, recognized by name and arity.

use syn::ExprMethodCall;

use super::Kind;

/// The meaning of a method's arguments for the hook that reports the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// The arguments are values, and the hook does not need them.
    Ignored,
    /// The last argument is a count.
    Count,
    /// The only argument is a pointer, or a reference that is coerced to one.
    Pointer,
    /// The arguments are a pointer and a count.
    PointerAndCount,
}

/// A method that accesses memory, if its receiver is a pointer or memory that may be uninitialized.
/// The hook checks this by the type of the receiver.
pub(super) struct Method {
    pub(super) kind: Kind,
    pub(super) hook: &'static str,
    pub(super) arguments: Arguments,
}

/// Returns the method that a call may stand for, by its name and arity.
pub(super) fn of(call: &ExprMethodCall) -> Option<Method> {
    let name = call.method.to_string();
    let (kind, hook) = match (name.as_str(), call.args.len()) {
        ("read" | "read_volatile" | "read_unaligned" | "assume_init_read", 0) => {
            (Kind::ReadThrough, "read_through")
        }
        ("write" | "write_volatile" | "write_unaligned", 1) => {
            (Kind::WriteThrough, "write_through")
        }
        ("replace", 1) => (Kind::UpdateThrough, "update_through"),
        ("as_ref" | "assume_init_ref" | "as_ref_unchecked", 0) => {
            (Kind::BorrowThrough, "borrow_through")
        }
        ("as_mut" | "assume_init_mut" | "as_mut_unchecked", 0) => {
            (Kind::BorrowMutThrough, "borrow_mut_through")
        }
        ("drop_in_place" | "assume_init_drop", 0) => (Kind::DropThrough, "drop_through"),
        ("write_bytes", 2) => (Kind::WriteThrough, "write_bytes_through"),
        ("swap", 1) => (Kind::UpdateThrough, "swap_through"),
        ("copy_from" | "copy_from_nonoverlapping", 2) => (Kind::CopyThrough, "copy_from_through"),
        ("copy_to" | "copy_to_nonoverlapping", 2) => (Kind::CopyThrough, "copy_to_through"),
        _ => return None,
    };
    let arguments = match hook {
        "write_bytes_through" => Arguments::Count,
        "swap_through" => Arguments::Pointer,
        "copy_from_through" | "copy_to_through" => Arguments::PointerAndCount,
        _ => Arguments::Ignored,
    };
    Some(Method {
        kind,
        hook,
        arguments,
    })
}
