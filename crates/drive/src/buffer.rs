#![allow(
    unsafe_code,
    reason = "buffers on pages of their own, as direct IO and huge pages need them"
)]

use std::io;
use std::ptr::NonNull;

/// Memory pages of every machine this runs on are a multiple of this.
const PAGE: usize = 4096;

/// Page-aligned memory for the data of IOs, one piece for each slot.
///
/// Untouched pages take no memory, so that slots may be as long as the longest IO.
pub(crate) struct Buffers {
    start: NonNull<u8>,
    count: usize,
    stride: usize,
}

// SAFETY: the memory belongs to this value alone, as that of a `Vec<u8>` does.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `count` pieces of at least `len` bytes; both above zero.
    pub(crate) fn new(count: usize, len: usize) -> io::Result<Buffers> {
        let stride = len.next_multiple_of(PAGE);
        let total =
            stride.checked_mul(count).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        // SAFETY: asks for new memory; no existing mapping is touched.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                total,
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
        Ok(Buffers { start, count, stride })
    }

    /// The first byte of the piece of `slot`.
    pub(crate) fn start(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.count);
        // SAFETY: inside the mapping, as just checked.
        unsafe { self.start.as_ptr().add(slot * self.stride) }
    }

    /// The first `len` bytes of the piece of `slot`, which the kernel must not be using.
    pub(crate) fn bytes(&mut self, slot: usize, len: usize) -> &mut [u8] {
        assert!(len <= self.stride);
        // SAFETY: inside the mapping, initialized (fresh pages read as zero) and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start(slot), len) }
    }

    /// All pieces, as the kernel wants them for registering.
    pub(crate) fn pieces(&self) -> Vec<libc::iovec> {
        let piece = |slot| libc::iovec { iov_base: self.start(slot).cast(), iov_len: self.stride };
        (0..self.count).map(piece).collect()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped. Engines let no IO outlive its buffer.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.count * self.stride) };
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
            assert_eq!(buffers.start(slot).addr() % PAGE, 0);
            buffers.bytes(slot, 4608).fill(u8::try_from(slot).unwrap() + 1);
        }
        assert!(buffers.bytes(0, 4608).iter().all(|byte| *byte == 1));
        assert!(buffers.bytes(1, 4608).iter().all(|byte| *byte == 2));
    }
}
