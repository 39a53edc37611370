//! The token of a task, which `unpark` gives and `park` takes: its uses in the waits of std.
//!
//! The channels and scopes of std park the thread that waits. So the end of such a wait takes the
//! token, although the program gave it for a later `park`. The order of this step and an `unpark`
//! changes nothing as long as no task parks after such a wait. When a task does, the search begins
//! anew ([`Tokens::were_missed`]), and from then on the ends of these waits touch the token's
//! object.

/// The uses of tokens in the waits of std.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens {
    /// Whether a wait of std touches the token of its task.
    pub(super) are_touched: bool,
    /// Whether a task has parked after such a wait, which has not touched the token.
    pub(super) were_missed: bool,
}

impl Tokens {
    pub(super) const fn new() -> Self {
        Self {
            are_touched: false,
            were_missed: false,
        }
    }

    /// Prepares an execution.
    #[inline]
    pub(crate) fn begin(&mut self, are_touched: bool) {
        *self = Self {
            are_touched,
            were_missed: false,
        };
    }

    /// Whether a task has parked after a wait of std, although such waits do not touch tokens.
    pub(crate) fn were_missed(self) -> bool {
        self.were_missed
    }
}
