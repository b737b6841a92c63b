#![allow(unsafe_code, reason = "maps page-aligned memory for direct IO, and lends it by address")]

use std::io;
use std::ptr::NonNull;

/// The page size, or a divisor of it, on every supported machine.
const PAGE: usize = 4096;

/// Page-aligned memory that is accessible through Rust borrows only, never by its address.
///
/// Pages that are never touched take no physical memory. A buffer can therefore be as long as the
/// longest possible IO.
pub(crate) struct Memory(Mapping);

impl Memory {
    /// Allocates at least `len` bytes, which must be above 0.
    pub(crate) fn new(len: usize) -> io::Result<Memory> {
        Mapping::new(len.next_multiple_of(PAGE)).map(Memory)
    }

    /// Returns the first `len` bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.0.len);
        // SAFETY: the range is inside the mapping, initialized (fresh pages read as zero) and
        // borrowed mutably as a whole. No one else has its address.
        unsafe { std::slice::from_raw_parts_mut(self.0.start.as_ptr(), len) }
    }
}

/// Page-aligned memory for the data of IOs: one buffer for each slot, which holds one IO in flight.
/// The kernel accesses a buffer by its address.
///
/// Pages that are never touched take no physical memory. A buffer can therefore be as long as the
/// longest possible IO.
pub(crate) struct Buffers {
    mapping: Mapping,
    count: usize,
    stride: usize,
}

impl Buffers {
    /// Allocates `count` buffers of at least `len` bytes. `count` and `len` must be above 0.
    pub(crate) fn new(count: usize, len: usize) -> io::Result<Buffers> {
        let stride = len.next_multiple_of(PAGE);
        let total =
            stride.checked_mul(count).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Buffers { mapping: Mapping::new(total)?, count, stride })
    }

    /// Returns the address of a slot's buffer. At least `len` bytes from this address stay valid
    /// while this value lives.
    pub(crate) fn start(&self, slot: usize, len: usize) -> *mut u8 {
        assert!(slot < self.count && len <= self.stride);
        // SAFETY: inside the mapping, as just checked.
        unsafe { self.mapping.start.as_ptr().add(slot * self.stride) }
    }

    /// Returns the first `len` bytes of a slot's buffer.
    ///
    /// # Safety
    /// The kernel must not use the buffer: no IO with its address is in flight, or is submitted
    /// during the borrow.
    pub(crate) unsafe fn bytes(&mut self, slot: usize, len: usize) -> &mut [u8] {
        // SAFETY: the range is inside the mapping (checked by `start`), initialized (fresh pages
        // read as zero) and borrowed mutably. The caller guarantees that the kernel does not use
        // it.
        unsafe { std::slice::from_raw_parts_mut(self.start(slot, len), len) }
    }

    /// Returns all buffers, in the form in which the kernel registers them.
    pub(crate) fn io_vectors(&self) -> Vec<libc::iovec> {
        let piece = |slot| {
            let iov_base = self.start(slot, self.stride).cast();
            libc::iovec { iov_base, iov_len: self.stride }
        };
        (0..self.count).map(piece).collect()
    }
}

/// An anonymous private memory mapping.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the value owns the memory exclusively, as a `Vec<u8>` does.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(len: usize) -> io::Result<Mapping> {
        // SAFETY: maps new memory; no existing mapping is touched.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("mmap never returns null");
        Ok(Mapping { start, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped. Engines keep buffers alive until their IOs
        // complete.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The length is not a multiple of the page size.
    #[test]
    fn buffers_are_aligned_and_disjoint() {
        let mut buffers = Buffers::new(3, 4608).unwrap();
        for slot in 0..3 {
            assert_eq!(buffers.start(slot, 4608).addr() % PAGE, 0);
            // SAFETY: these buffers were never passed to the kernel.
            unsafe { buffers.bytes(slot, 4608) }.fill(u8::try_from(slot).unwrap() + 1);
        }
        // SAFETY: these buffers were never passed to the kernel.
        let mut bytes = |slot| unsafe { buffers.bytes(slot, 4608) }.to_vec();
        assert!(bytes(0).iter().all(|byte| *byte == 1));
        assert!(bytes(1).iter().all(|byte| *byte == 2));
    }

    #[test]
    fn memory_is_aligned_and_has_the_given_length() {
        let mut memory = Memory::new(4608).unwrap();
        assert_eq!(memory.bytes(4608).as_ptr().addr() % PAGE, 0);
        memory.bytes(8192).fill(1);
        assert!(memory.bytes(1).iter().all(|byte| *byte == 1));
    }

    #[test]
    #[should_panic(expected = "len <= self.stride")]
    fn access_beyond_a_buffer_panics() {
        Buffers::new(2, 4096).unwrap().start(0, 4097);
    }
}
