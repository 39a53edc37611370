//! The pool of stacks: pthreads ("donors") that lend their stack and thread-local block to tasks.
//!
//! A task runs on the stack of a donor, below the frames of the parked donor, with the donor's FS
//! base. So its stack bounds, guard page, thread-locals and thread handle are all those of one
//! pthread. With the `fibers` backend the donor's kernel thread sleeps for ever, and the exploring
//! thread runs every task. With `threads` each donor runs its own task, and control is handed over
//! through futexes.

use core::arch::naked_asm;
use core::ffi::c_void;
use core::iter;
use core::ops::{ControlFlow, Range};
use core::sync::atomic::{AtomicU32, Ordering};

use super::abort::abort_with;
use super::context::{self, Context, Main};
use super::handover::{self, ABANDON, Backend, Baton, Flow, GO};
use super::robust_list::RobustList;
use crate::base::memory::{EngineMemory, EngineVec, Place, engine_vec};
use crate::base::{fingerprint, loaded_objects, real, sys};

/// The default stack of a donor, in bytes: the default of `std::thread`.
pub(crate) const DEFAULT_STACK: usize = 2 << 20;
/// The bytes at the top of a stack that are reserved for the donor's own frames.
const OWN_FRAMES: usize = 16 << 10;
/// The maximum number of bytes of a stack that are hashed for the state of a task.
const MOST_NAMED: usize = 256 << 10;

/// A pthread that lends its stack and its thread-local block to one task at a time.
pub(crate) struct Donor {
    pub(crate) thread_pointer: usize,
    pub(crate) stack_top: usize,
    pub(crate) stack_low: usize,
    pub(crate) stack_size: usize,
    pub(crate) guard_size: usize,
    pub(crate) pthread: sys::pthread_t,
    pub(crate) kernel_thread: i32,
    /// The kernel's list of the robust mutexes that the donor's task holds.
    pub(crate) robust_list: *mut RobustList,
    /// The context of the donor's task, if that is suspended.
    context: Context,
    /// Points to `context` while the donor has a task. Debuggers find the stack of the task
    /// through this pointer: see [`park_fiber_donor`].
    bound: *const Context,
    ready: AtomicU32,
    pub(super) baton: Baton,
    backend: Backend,
    /// `threads` backend: the donor's loop, suspended while its task runs.
    pub(super) base: Context,
    /// `threads` backend: the baton (futex word) of the flow that gets control when this donor is
    /// back in its loop; null for none.
    pub(super) successor: *const Baton,
    /// `threads` backend: whether the donor is in its loop.
    idle: AtomicU32,
}

/// The donors of this process.
pub(crate) struct Pool {
    donors: EngineVec<Box<Donor, EngineMemory>>,
    free: EngineVec<usize>,
    /// The bounds of an area that contains all stacks of donors, but also other memory.
    stacks: Range<usize>,
    thread_locals: EngineVec<ThreadLocalBlock>,
    backend: Backend,
    /// The main function of each task.
    main: Main,
    /// The number of bytes at the top of a stack that are cleared before a task runs there.
    clean: usize,
}

/// The place of the pool.
pub(crate) const PLACE: Place<Pool> = Place::after(&handover::PLACE);

/// The pool of stacks. The pointer may be used as a unique reference between two transfers of
/// control, because only one thread at a time runs code of the engine.
#[inline]
pub(crate) fn pool() -> *mut Pool {
    PLACE.get()
}

/// The error that the state of a task cannot be hashed, because the stack was not cleared before
/// the task began. The stack may contain data of an earlier execution, in memory that the task did
/// not initialize.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unclean;

/// The thread-local block of the executable or of a library, with the initial contents of a new
/// thread.
struct ThreadLocalBlock {
    /// The distance from the FS base to the block.
    offset: isize,
    pristine: EngineVec<u8>,
}

impl Pool {
    pub(crate) const fn new(backend: Backend, main: Main) -> Self {
        Self {
            donors: engine_vec(),
            free: engine_vec(),
            stacks: 0..0,
            thread_locals: engine_vec(),
            backend,
            main,
            clean: 0,
        }
    }

    /// Whether a part of each stack is cleared before a new task runs there, because states are
    /// hashed.
    #[inline]
    pub(crate) fn cleans(&self) -> bool {
        self.clean != 0
    }

    /// From now on, clears a stack before a task begins on it: all of the part that a hash of the
    /// task's state may contain.
    pub(crate) fn clean_all(&mut self) {
        self.clean = MOST_NAMED;
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    /// The number of donors.
    pub(crate) fn count(&self) -> usize {
        self.donors.len()
    }

    pub(crate) fn get(&self, index: usize) -> &Donor {
        &self.donors[index]
    }

    /// The bounds of an area that contains all stacks of donors, but also other memory.
    #[inline]
    pub(crate) fn stacks(&self) -> Range<usize> {
        self.stacks.clone()
    }

    /// Creates donors until `count` donors with stacks of at least `stack` bytes exist. Must not
    /// be called within an execution: glibc allocates memory for a donor, and the end of the
    /// execution would drop it.
    pub(crate) fn grow(&mut self, count: usize, stack: usize) {
        let fitting = self.donors.iter().filter(|d| d.stack_size >= stack).count();
        for _ in fitting..count {
            self.create(stack);
            self.free.insert(0, self.donors.len() - 1);
        }
    }

    /// Removes a free donor whose stack has at least `stack` bytes from the pool, and returns its
    /// index. `None` if the pool must grow first.
    #[inline]
    pub(crate) fn acquire(&mut self, stack: usize) -> Option<usize> {
        match self.free.last() {
            Some(&last) if self.donors[last].stack_size >= stack => self.free.pop(),
            _ => {
                let at = self
                    .free
                    .iter()
                    .rposition(|&i| self.donors[i].stack_size >= stack)?;
                Some(self.free.remove(at))
            }
        }
    }

    /// Prepares the donor (a pthread that lends its stack) with this `index` for a new task: gives
    /// its thread-locals the initial values of a new thread, and clears its stack if states are
    /// hashed. Returns the [`Flow`] through which the task receives control.
    #[inline]
    pub(crate) fn prepare(&mut self, index: usize) -> Flow {
        let donor: *mut Donor = &raw mut *self.donors[index];
        // SAFETY: donors are boxed and live as long as the process; no task runs on this
        // one, and its stack below `stack_top` is unused.
        unsafe {
            let thread_pointer = (*donor).thread_pointer;
            for block in &self.thread_locals {
                let (at, pristine) = (block.of(thread_pointer).start, &block.pristine);
                core::ptr::copy_nonoverlapping(pristine.as_ptr(), at as *mut u8, pristine.len());
            }
            RobustList::clear((*donor).robust_list);
            if self.clean != 0 {
                let bottom = ((*donor).stack_top - self.clean).max((*donor).stack_low);
                let length = (*donor).stack_top - bottom;
                core::ptr::write_bytes(bottom as *mut u8, 0, length);
            }
            let context = &raw mut (*donor).context;
            (*donor).bound = context;
            (*context).thread_pointer = thread_pointer;
            (*context).stack_pointer = context::new_stack((*donor).stack_top, self.main);
            Flow { context, donor }
        }
    }

    /// Hashes the thread-locals of a donor's task, and its stack from `stack_pointer` to the high
    /// end. The result is `None` if that part of the stack is too large, or if the task runs on
    /// another stack. The result is an error if that part of the stack was not cleared before the
    /// task began. After an error, that part is cleared before each later task begins.
    pub(crate) fn fingerprint(
        &mut self,
        index: usize,
        stack_pointer: usize,
    ) -> Result<Option<u64>, Unclean> {
        let donor = &self.donors[index];
        let length = donor.stack_top.wrapping_sub(stack_pointer);
        if length > MOST_NAMED || stack_pointer < donor.stack_low {
            return Ok(None);
        }
        if length > self.clean {
            self.clean = length.next_multiple_of(sys::PAGE);
            return Err(Unclean);
        }
        // SAFETY: the stack of the calling task, or one of its thread-local blocks.
        let bytes = |at: Range<usize>| unsafe {
            core::slice::from_raw_parts(at.start as *const u8, at.len())
        };
        let stack = fingerprint::of(0, bytes(stack_pointer..donor.stack_top));
        let blocks = self.thread_locals.iter();
        let blocks = blocks.map(|block| block.of(donor.thread_pointer));
        Ok(Some(blocks.fold(stack, |all, block| {
            fingerprint::of(all, bytes(block))
        })))
    }

    /// The bounds of the live memory of a donor's task: of the used part of its stack, and of its
    /// thread-locals. With the `threads` backend, the whole stack counts as used.
    pub(crate) fn memory_of(&self, index: usize) -> impl Iterator<Item = Range<usize>> {
        let donor = &self.donors[index];
        let low = match donor.backend {
            Backend::Fibers => donor.context.stack_pointer,
            // The stack pointer of its waiting thread is unknown.
            Backend::Threads => donor.stack_low,
        };
        let blocks = self.thread_locals.iter();
        let blocks = blocks.map(|block| block.of(donor.thread_pointer));
        blocks.chain(iter::once(low..donor.stack_top))
    }

    /// Removes every donor. This is needed if each execution creates its donors in a process of
    /// its own, because their threads exist only in that process.
    pub(crate) fn forget(&mut self) {
        self.free.clear();
        self.donors.clear();
    }

    /// Returns a donor to the pool. Its task has ended, or will never continue.
    #[inline]
    pub(crate) fn release(&mut self, index: usize) {
        self.donors[index].bound = NO_TASK;
        self.free.push(index);
    }

    /// `threads` backend: returns the donor of an unfinished task to its loop.
    pub(crate) fn abandon(&self, index: usize) {
        let donor = &self.donors[index];
        if donor.backend == Backend::Threads && donor.idle.load(Ordering::Acquire) == 0 {
            donor.baton.give(ABANDON);
            while donor.idle.load(Ordering::Acquire) == 0 {
                sys::futex_wait(&donor.idle, 0);
            }
        }
    }

    /// The donor whose guard page, or lowest page of the stack, contains `address`.
    pub(crate) fn overflowed(&self, address: usize) -> Option<usize> {
        self.donors.iter().position(|d| {
            let low = d.stack_low - d.guard_size.max(sys::PAGE);
            (low..d.stack_low + sys::PAGE).contains(&address)
        })
    }

    fn create(&mut self, stack: usize) {
        let donor = Box::new_in(
            Donor {
                thread_pointer: 0,
                stack_top: 0,
                stack_low: 0,
                stack_size: 0,
                guard_size: 0,
                pthread: 0,
                kernel_thread: 0,
                robust_list: core::ptr::null_mut(),
                context: Context::EMPTY,
                bound: NO_TASK,
                ready: AtomicU32::new(0),
                baton: Baton::new(),
                backend: self.backend,
                base: Context::EMPTY,
                successor: core::ptr::null(),
                idle: AtomicU32::new(0),
            },
            EngineMemory,
        );
        self.donors.push(donor);
        let donor: *mut Donor = &raw mut **self.donors.last_mut().expect("just pushed");
        let mut attributes = sys::pthread_attr_t::zeroed();
        // SAFETY: plain pthread calls; the donor outlives its thread, and only that thread uses it
        // before `ready`.
        unsafe {
            sys::pthread_attr_init(&raw mut attributes);
            sys::pthread_attr_setstacksize(&raw mut attributes, stack + 2 * OWN_FRAMES);
            let mut pthread = 0;
            let error = real::pthread_create(
                &raw mut pthread,
                &raw const attributes,
                donor_main,
                donor.cast(),
            );
            if error != 0 {
                abort_with(format!(
                    "the system refused to create a thread for another task (error {error}): the number of \
                     threads or the memory may be limited (`ulimit -u`, `ulimit -v`, limits of the \
                     container)"
                ));
            }
            while (*donor).ready.load(Ordering::Acquire) == 0 {
                sys::futex_wait(&(*donor).ready, 0);
            }
            (*donor).pthread = pthread;
            sys::pthread_attr_destroy(&raw mut attributes);
        }
        let new = self.donors.last().expect("just pushed");
        let stacks = self.donors.iter().map(|donor| donor.stack_low);
        let low = stacks.min().expect("there is one");
        self.stacks = low..self.stacks.end.max(new.stack_top);
        if self.thread_locals.is_empty() {
            self.learn_thread_locals();
        }
    }

    /// Finds the thread-local blocks, and copies their initial contents from the newest donor, on
    /// which no code of the program has run.
    fn learn_thread_locals(&mut self) {
        /// The highest distance of a library's block from the executable's block.
        const MOST_STATIC: isize = 1 << 20;
        let own = context::thread_pointer();
        let newest = self.donors.last().expect("a donor was created");
        let mut area = None;
        for (address, length) in thread_local_blocks() {
            // The same offset holds in each thread.
            let offset = address.wrapping_sub(own).cast_signed();
            // The blocks follow each other downwards, and the executable's block is the first one.
            // The block of a library that was loaded later is not in this area.
            let area = area.get_or_insert_with(|| offset.saturating_sub(MOST_STATIC)..0);
            if !area.contains(&offset) {
                continue;
            }
            let at = newest.thread_pointer.wrapping_add_signed(offset);
            let mut pristine = engine_vec();
            // SAFETY: the block of a parked thread.
            let bytes = unsafe { core::slice::from_raw_parts(at as *const u8, length) };
            pristine.extend_from_slice(bytes);
            self.thread_locals
                .push(ThreadLocalBlock { offset, pristine });
        }
    }
}

impl ThreadLocalBlock {
    /// The bounds of the block of the thread with this thread pointer.
    fn of(&self, thread_pointer: usize) -> Range<usize> {
        let start = thread_pointer.wrapping_add_signed(self.offset);
        start..start + self.pristine.len()
    }
}

/// The addresses and lengths of the calling thread's thread-local blocks: of the executable, and of
/// all libraries except for libc and the dynamic linker, which keep facts about the thread there.
/// These libraries were loaded at the start of the program, so that their blocks have the same
/// place in each thread.
fn thread_local_blocks() -> EngineVec<(usize, usize)> {
    let mut blocks = engine_vec();
    loaded_objects::visit(|object, headers| {
        let block = headers.iter().find(|header| header.kind == sys::PT_TLS);
        if let Some(block) = block.filter(|_| !object.tls_data.is_null())
            && !object.belongs_to_libc()
        {
            blocks.push((object.tls_data as usize, block.memory_size as usize));
        }
        ControlFlow::Continue(())
    });
    blocks
}

/// The context that debuggers see on a donor without a task. Its stack pointer is 0, so it has no
/// frame.
struct Idle(Context);
// SAFETY: never written.
unsafe impl Sync for Idle {}
static IDLE: Idle = Idle(Context {
    stack_pointer: 0,
    thread_pointer: 0,
});
const NO_TASK: *const Context = &raw const IDLE.0;

unsafe extern "C" fn donor_main(argument: *mut c_void) -> *mut c_void {
    let donor = argument.cast::<Donor>();
    // SAFETY: the creator waits for `ready`, and does not use the donor until then. Every write
    // must come before `ready`: the creator may write-protect the image next, and the signals of
    // these faults are blocked.
    unsafe {
        sys::block_signals();
        (*donor).thread_pointer = context::thread_pointer();
        (*donor).kernel_thread = sys::kernel_thread_id();
        (*donor).robust_list = RobustList::of_this_thread();
        let mut attributes = sys::pthread_attr_t::zeroed();
        real::pthread_getattr_np(sys::pthread_self(), &raw mut attributes);
        let mut low = core::ptr::null_mut();
        sys::pthread_attr_getstack(
            &raw const attributes,
            &raw mut low,
            &raw mut (*donor).stack_size,
        );
        sys::pthread_attr_getguardsize(&raw const attributes, &raw mut (*donor).guard_size);
        sys::pthread_attr_destroy(&raw mut attributes);
        (*donor).stack_low = low as usize;
        let here = (&raw const attributes).addr();
        (*donor).stack_top = (here - OWN_FRAMES) & !15;
        (*donor).idle.store(1, Ordering::Release);
        (*donor).ready.store(1, Ordering::Release);
        sys::futex_wake(&(*donor).ready);
        match (*donor).backend {
            Backend::Fibers => {
                park_fiber_donor(&raw const (*donor).baton, &raw const (*donor).bound)
            }
            Backend::Threads => run_tasks(donor),
        }
    }
}

/// The main loop of a donor's kernel thread with the `threads` backend.
unsafe fn run_tasks(donor: *mut Donor) -> ! {
    // SAFETY: the donor lives as long as the process; the fields used here are accessed by one
    // thread at a time, in the order that the batons set.
    unsafe {
        unblock_faults();
        give_alternate_stack();
        loop {
            if (*donor).baton.take() == GO {
                (*donor).idle.store(0, Ordering::Release);
                context::switch(&raw mut (*donor).base, (*donor).bound);
                (*donor).idle.store(1, Ordering::Release);
                sys::futex_wake(&(*donor).idle);
                let successor = core::mem::replace(&mut (*donor).successor, core::ptr::null());
                if !successor.is_null() {
                    (*successor).give(GO);
                }
            }
        }
    }
}

/// Gives the calling kernel thread an alternate signal stack, because the handler of page faults
/// must run even if a task's stack is used up.
pub(crate) fn give_alternate_stack() {
    const SIZE: usize = 64 << 10;
    let stack = sys::stack_t {
        pointer: sys::map_anywhere(SIZE).cast(),
        flags: 0,
        size: SIZE,
    };
    if !stack.pointer.is_null() {
        let at = &raw const stack as usize;
        // SAFETY: new memory that this kernel thread keeps for ever.
        unsafe { sys::syscall(sys::number::SIGALTSTACK, [at, 0, 0, 0, 0, 0]) };
    }
}

/// Unblocks SIGSEGV, SIGBUS and SIGABRT in the calling thread. The signals of page faults must
/// reach the handler that restores access to pages of the image.
fn unblock_faults() {
    let faults = 1u64 << (sys::SIGSEGV - 1) | 1 << (sys::SIGBUS - 1) | 1 << (sys::SIGABRT - 1);
    let mask = &raw const faults as usize;
    // SAFETY: unblocks signals of this thread; `mask` is readable.
    unsafe { sys::syscall(sys::number::RT_SIGPROCMASK, [1, mask, 0, 8, 0, 0]) };
}

/// Parks a donor's kernel thread for ever. According to its unwind information, its caller is the
/// task that is suspended on this donor (registers as [`context::switch`] pushes them). So a
/// debugger shows the stack of each suspended task as that of this pthread, live and in core files.
#[unsafe(naked)]
unsafe extern "C" fn park_fiber_donor(_baton: *const Baton, _bound: *const *const Context) -> ! {
    naked_asm!(
        ".cfi_startproc",
        // CFA = **rbx + 64: the bound context's stack pointer, past its saved registers.
        ".cfi_escape 0x0f,6,0x73,0,6,6,0x23,0x40",
        ".cfi_offset rip,-8",
        ".cfi_offset rbp,-16",
        ".cfi_offset rbx,-24",
        ".cfi_offset r12,-32",
        ".cfi_offset r13,-40",
        ".cfi_offset r14,-48",
        ".cfi_offset r15,-56",
        "mov r12, rdi",
        "mov rbx, rsi",
        "2:",
        "mov eax, 202", // futex
        "mov rdi, r12",
        "mov esi, 128", // FUTEX_WAIT_PRIVATE
        "xor edx, edx",
        "xor r10d, r10d",
        "syscall",
        "jmp 2b",
        ".cfi_endproc",
    )
}
