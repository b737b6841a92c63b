use flashscope_block::{Io, Nanos};

/// A sequence of IOs issued one after the other, as one process would.
///
/// Streams of the same workload run concurrently and independently.
pub trait Stream {
    /// Returns the next IO, or `None` at the end.
    ///
    /// `previous` is the completion time of this stream's previous IO, or the
    /// start of the run for the first one. [`Io::at`] of the result is the time at which the IO is
    /// due; in a closed loop it is never before `previous`.
    fn next(&mut self, previous: Nanos) -> Option<Io>;

    /// Returns true if every IO is due when the previous one completes, and depends on that time in
    /// no other way. The IOs of such a stream can be drawn before the previous ones complete; then
    /// the caller sets [`Io::at`].
    fn follows_answers(&self) -> bool {
        false
    }
}

impl<S: Stream + ?Sized> Stream for Box<S> {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        (**self).next(previous)
    }
    fn follows_answers(&self) -> bool {
        (**self).follows_answers()
    }
}

impl<S: Stream + ?Sized> Stream for &mut S {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        (**self).next(previous)
    }
    fn follows_answers(&self) -> bool {
        (**self).follows_answers()
    }
}

/// Derives a seed for part `part` from `seed`. The seeds of different parts give unrelated random
/// numbers. Uses the finalizer of SplitMix64.
pub fn seed_for(seed: u64, part: u64) -> u64 {
    let mut z = seed.wrapping_add((part.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
