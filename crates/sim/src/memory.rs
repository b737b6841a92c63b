//! Hints to the processor about memory.

#![allow(unsafe_code, reason = "a hint to the processor to fetch memory, which has no safe form")]

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
