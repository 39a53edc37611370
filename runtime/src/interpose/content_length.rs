//! `ioctl`: the number of bytes that wait in a descriptor, and changes of its flags.

use core::ffi::{c_int, c_ulong};

use super::call::admit;
use super::{files, kernel_writes};
use crate::base::sys::{self, number};
use crate::execution::{self, Effect, Op, active};
use crate::platform::descriptor;

/// The request for the number of bytes that can be read.
const FIONREAD: c_ulong = 0x541b;
/// The request for the number of bytes that were written and that the peer has not received yet.
const TIOCOUTQ: c_ulong = 0x5411;

/// The requests that change the flags of a descriptor: `FIONCLEX`, `FIOCLEX`, `FIONBIO` and
/// `FIOASYNC`.
const FLAGS: [c_ulong; 4] = [0x5450, 0x5451, 0x5421, 0x5452];

/// libc's `ioctl`. `FIONREAD` and `TIOCOUTQ` are scheduling points, and so are requests that change
/// flags if their order matters. All other requests are passed to the kernel.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ioctl(
    descriptor: c_int,
    request: c_ulong,
    argument: usize,
) -> c_int {
    let arguments = [descriptor as usize, request as usize, argument, 0, 0, 0];
    // SAFETY: the caller's arguments are those of the system call.
    let call = || unsafe { sys::syscall(number::IOCTL, arguments) };
    let result = if active() && matches!(request, FIONREAD | TIOCOUTQ) {
        let object = execution::descriptor_object(descriptor, descriptor::look(descriptor));
        execution::before_call(Op::DescriptorLength, object);
        admit(argument, size_of::<c_int>());
        let result = call();
        execution::after_call(Op::DescriptorLength, object, Effect::Read);
        result
    } else if FLAGS.contains(&request) {
        return files::change(descriptor, call) as c_int;
    } else {
        kernel_writes::admit(argument, length_of(request));
        call()
    };
    sys::libc_result(result) as c_int
}

/// An upper limit of the number of bytes that the kernel writes to the argument of this request.
/// Old requests do not contain this number.
fn length_of(request: c_ulong) -> usize {
    const OLD: usize = 256;
    ((request >> 16) as usize & 0x3fff).max(OLD)
}
