use flashscope_block::{Io, Nanos};

/// A sequence of IOs issued one after the other, as one process would.
///
/// Streams of the same workload run concurrently, each at its own pace.
pub trait Stream {
    /// The next IO, or `None` at the end.
    ///
    /// `previous` is when the previous IO of this stream was answered (for the first: when the run
    /// began). [`Io::at`] of the result says when the IO is due; it is never before `previous`
    /// in a closed loop.
    fn next(&mut self, previous: Nanos) -> Option<Io>;
}

impl<S: Stream + ?Sized> Stream for Box<S> {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        (**self).next(previous)
    }
}

/// A seed for part `part` of something seeded with `seed`: different parts get unrelated streams
/// of random numbers (the finalizer of SplitMix64).
pub fn seed_for(seed: u64, part: u64) -> u64 {
    let mut z = seed.wrapping_add((part.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
