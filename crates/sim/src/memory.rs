//! Hints to the processor and the operating system about memory.

#![allow(unsafe_code, reason = "hints to the processor and the system, which have no safe form")]

/// Makes the processor fetch `items[index]` into its cache without waiting for it. Does nothing if
/// the index is out of range or the processor has no such instruction.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    let Some(item) = items.get(index) else { return };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; a prefetch reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}

/// Bytes of a huge page on x86-64, and on Arm with pages of 4 KiB.
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// Asks the system for huge pages under large `items`, which are accessed at random. The processor
/// then translates most addresses without a walk through page tables, and a new table causes fewer
/// page faults. Does nothing if the system has no huge pages.
pub(crate) fn use_huge_pages<T>(items: &[T]) {
    #[cfg(target_os = "linux")]
    {
        let start = items.as_ptr().cast::<u8>();
        let skipped = start.align_offset(HUGE_PAGE);
        let length = size_of_val(items).saturating_sub(skipped) / HUGE_PAGE * HUGE_PAGE;
        if length > 0 {
            // SAFETY: The range lies within `items`. The advice changes no contents.
            unsafe {
                libc::madvise(start.add(skipped).cast_mut().cast(), length, libc::MADV_HUGEPAGE)
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}
