//! The executable and the libraries of this process, in the order of the dynamic linker: the
//! executable is the first one.

use core::ffi::{c_int, c_void};
use core::ops::ControlFlow;

use super::sys::{self, LoadedObject, ProgramHeader};

/// Calls `each` for the loaded objects with their program headers, until `each` returns
/// [`ControlFlow::Break`].
pub(crate) fn visit<F>(mut each: F)
where
    F: FnMut(&LoadedObject, &[ProgramHeader]) -> ControlFlow<()>,
{
    unsafe extern "C" fn call<F>(
        object: *mut LoadedObject,
        _size: usize,
        each: *mut c_void,
    ) -> c_int
    where
        F: FnMut(&LoadedObject, &[ProgramHeader]) -> ControlFlow<()>,
    {
        // SAFETY: `dl_iterate_phdr` passes a valid object, and the closure below, which has no
        // other user during the call.
        unsafe {
            let object = &*object;
            let headers = core::slice::from_raw_parts(object.headers, object.header_count.into());
            let each = &mut *each.cast::<F>();
            c_int::from(each(object, headers).is_break())
        }
    }
    // SAFETY: the visitor uses `each` during the call only.
    unsafe { sys::dl_iterate_phdr(call::<F>, (&raw mut each).cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_comes_first_and_the_visit_ends_where_it_breaks() {
        let own = visit as fn(fn(&LoadedObject, &[ProgramHeader]) -> ControlFlow<()>) as usize;
        let mut objects = 0;
        visit(|object, headers| {
            objects += 1;
            let contains = |header: &ProgramHeader| {
                let start = (object.base + header.virtual_address) as usize;
                header.kind == sys::PT_LOAD
                    && (start..start + header.memory_size as usize).contains(&own)
            };
            assert!(headers.iter().any(contains));
            ControlFlow::Break(())
        });
        assert_eq!(objects, 1);
        visit(|_, _| {
            objects += 1;
            ControlFlow::Continue(())
        });
        assert!(objects > 2, "there is libc");
    }
}
