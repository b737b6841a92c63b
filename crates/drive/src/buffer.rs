#![allow(
    unsafe_code,
    reason = "buffers on pages of their own, as direct IO and huge pages need them"
)]

use std::io;
use std::ptr::NonNull;

/// Memory pages of every machine this runs on are a multiple of this.
const PAGE: usize = 4096;

/// Page-aligned memory that nobody else uses: it is lent by borrowing alone.
///
/// Untouched pages take no memory, so that it may be as long as the longest IO.
pub(crate) struct Memory(Mapping);

impl Memory {
    /// At least `len` bytes; more than none.
    pub(crate) fn new(len: usize) -> io::Result<Memory> {
        Mapping::new(len.next_multiple_of(PAGE)).map(Memory)
    }

    /// The first `len` bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.0.len);
        // SAFETY: inside the mapping, initialized (fresh pages read as zero), and borrowed mutably as a whole: nobody
        // else has its address.
        unsafe { std::slice::from_raw_parts_mut(self.0.start.as_ptr(), len) }
    }
}

/// Page-aligned memory for the data of IOs, one piece for each slot, which is lent to the kernel by its address.
///
/// Untouched pages take no memory, so that slots may be as long as the longest IO.
pub(crate) struct Buffers {
    mapping: Mapping,
    count: usize,
    stride: usize,
}

impl Buffers {
    /// `count` pieces of at least `len` bytes; both above zero.
    pub(crate) fn new(count: usize, len: usize) -> io::Result<Buffers> {
        let stride = len.next_multiple_of(PAGE);
        let total =
            stride.checked_mul(count).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Buffers { mapping: Mapping::new(total)?, count, stride })
    }

    /// The first byte of the piece of `slot`, of which at least `len` bytes are valid as long as this value lives.
    pub(crate) fn start(&self, slot: usize, len: usize) -> *mut u8 {
        assert!(slot < self.count && len <= self.stride);
        // SAFETY: inside the mapping, as just checked.
        unsafe { self.mapping.start.as_ptr().add(slot * self.stride) }
    }

    /// The first `len` bytes of the piece of `slot`.
    ///
    /// # Safety
    /// The kernel does not use the piece: no IO with its address is in flight, or is handed over while the bytes are
    /// borrowed.
    pub(crate) unsafe fn bytes(&mut self, slot: usize, len: usize) -> &mut [u8] {
        // SAFETY: inside the mapping, as `start` checks, initialized (fresh pages read as zero), borrowed mutably from
        // this process, and not used by the kernel, by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.start(slot, len), len) }
    }

    /// All pieces, as the kernel wants them for registering.
    pub(crate) fn pieces(&self) -> Vec<libc::iovec> {
        let piece = |slot| {
            let iov_base = self.start(slot, self.stride).cast();
            libc::iovec { iov_base, iov_len: self.stride }
        };
        (0..self.count).map(piece).collect()
    }
}

/// Pages of this process alone.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to this value alone, as that of a `Vec<u8>` does.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(len: usize) -> io::Result<Mapping> {
        // SAFETY: asks for new memory; no existing mapping is touched.
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
        let start = NonNull::new(start.cast()).expect("mmap never answers null");
        Ok(Mapping { start, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped. Engines let no IO outlive its buffer.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Are pieces page aligned and apart, also for an odd length?
    #[test]
    fn pieces_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 4608).unwrap();
        for slot in 0..3 {
            assert_eq!(buffers.start(slot, 4608).addr() % PAGE, 0);
            // SAFETY: no kernel knows of these buffers.
            unsafe { buffers.bytes(slot, 4608) }.fill(u8::try_from(slot).unwrap() + 1);
        }
        // SAFETY: as above.
        let mut bytes = |slot| unsafe { buffers.bytes(slot, 4608) }.to_vec();
        assert!(bytes(0).iter().all(|byte| *byte == 1));
        assert!(bytes(1).iter().all(|byte| *byte == 2));
    }

    #[test]
    fn memory_is_aligned_and_as_long_as_said() {
        let mut memory = Memory::new(4608).unwrap();
        assert_eq!(memory.bytes(4608).as_ptr().addr() % PAGE, 0);
        memory.bytes(8192).fill(1);
        assert!(memory.bytes(1).iter().all(|byte| *byte == 1));
    }

    #[test]
    #[should_panic(expected = "len <= self.stride")]
    fn no_more_than_a_piece_is_lent() {
        Buffers::new(2, 4096).unwrap().start(0, 4097);
    }
}
