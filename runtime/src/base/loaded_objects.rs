//! The executable and the libraries of this process, in the order of the dynamic linker: the
//! executable is the first one.

use core::ffi::{CStr, c_int, c_void};
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

impl LoadedObject {
    /// Whether the object is the dynamic linker.
    pub(crate) fn is_linker(&self) -> bool {
        let prefixes = [&b"ld-linux"[..], b"ld.so", b"ld-2."];
        prefixes
            .iter()
            .any(|prefix| self.file_name().starts_with(prefix))
    }

    /// Whether the object is the dynamic linker, libc itself, or its library of threads.
    pub(crate) fn belongs_to_libc(&self) -> bool {
        let prefixes = [&b"libc.so"[..], b"libc-2.", b"libpthread"];
        self.is_linker()
            || prefixes
                .iter()
                .any(|prefix| self.file_name().starts_with(prefix))
    }

    /// The last part of the path. The executable has an empty path.
    fn file_name(&self) -> &[u8] {
        if self.name.is_null() {
            return b"";
        }
        // SAFETY: the name of a loaded object is null or a C string.
        let path = unsafe { CStr::from_ptr(self.name) }.to_bytes();
        path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
    }
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
