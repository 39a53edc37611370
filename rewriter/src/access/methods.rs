//! Methods of pointers and of `MaybeUninit` that touch memory, as far as name and arity tell.

use syn::ExprMethodCall;

use super::Kind;

/// What the arguments of a method are to the hook that is told of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// Nothing: they are values.
    Ignored,
    /// The last one is a count.
    Count,
    /// The only one is a pointer, or a reference that becomes one.
    Pointer,
    /// A pointer and a count.
    PointerAndCount,
}

/// A method by which code touches memory, if its receiver is a pointer, or memory
/// that may not be initialised. Whether it is, the hook finds from its type.
pub(super) struct Method {
    pub(super) kind: Kind,
    pub(super) hook: &'static str,
    pub(super) arguments: Arguments,
}

/// What a call may be by its name.
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
