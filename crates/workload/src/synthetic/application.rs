//! Common parts of the application models.

use std::collections::VecDeque;

use flashscope_block::{Bytes, Data, Io, Nanos, Op, StreamId};
use rand::rand_core::SeedableRng;
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrivals::Arrivals;
use super::values::Values;
use super::{Field, Ios, Models, Target, WorkloadError, field};
use crate::{Stream, seed_for};

/// The page size of most file systems, and their unit of allocation.
pub(super) const BLOCK: Bytes = Bytes::kib(4);

/// The size at which operating systems split larger requests: 256 KiB is the size of five in six
/// writes in the IOzone trace of N. Agrawal et al. (USENIX ATC 2008).
pub(super) const REQUEST: Field =
    field("request", Some("256KiB"), "bytes in the largest IO; larger requests are split");

/// The streams of short-lived and of long-lived data, for drives that keep streams apart.
pub(super) const HOT_STREAM: StreamId = 1;
pub(super) const COLD_STREAM: StreamId = 2;

/// The largest valid value of [`REQUEST`].
pub(super) const MAX_REQUEST: Bytes = Bytes::mib(16);

/// A request of an application, by its offset in the target range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) op: Op,
    pub(super) offset: u64,
    pub(super) len: u64,
    /// The stream, for drives that keep streams apart.
    pub(super) stream: StreamId,
}

impl Access {
    /// Creates a request of stream 0.
    pub(super) const fn new(op: Op, offset: u64, len: u64) -> Access {
        Access { op, offset, len, stream: 0 }
    }

    /// Splits off a request of at most `most` bytes; `None` at the end. Trims are not split.
    #[inline]
    pub(super) fn cut(&mut self, most: u64) -> Option<Access> {
        let len = if self.op == Op::Trim { self.len } else { self.len.min(most) };
        let access = Access { len, ..*self };
        self.offset += len;
        self.len -= len;
        (len > 0).then_some(access)
    }
}

/// The requests of an application that are due, in order.
#[derive(Default)]
pub(super) struct Due(VecDeque<Access>);

impl Due {
    pub(super) fn push(&mut self, access: Access) {
        self.0.push_back(access);
    }

    /// Returns the next request, of at most `most` bytes: see [`Access::cut`].
    #[inline]
    pub(super) fn next(&mut self, most: u64) -> Option<Access> {
        while let Some(first) = self.0.front_mut() {
            if let Some(access) = first.cut(most) {
                return Some(access);
            }
            self.0.pop_front();
        }
        None
    }
}

/// Draws a number of at least 1 from a geometric distribution with this mean.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
pub(super) fn geometric(mean: f64, rng: &mut impl Rng) -> u64 {
    if mean <= 1.0 {
        return 1;
    }
    // The inverse of the distribution; 1 - u is above 0.
    let uniform: f64 = rng.random();
    1 + ((1.0 - uniform).ln() / (1.0 - 1.0 / mean).ln()) as u64
}

/// The range that an application uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    /// The size in bytes, a multiple of the logical block.
    pub(super) length: u64,
    /// The unit of offsets and lengths.
    pub(super) logical_block: Bytes,
    /// The seed of the random choices that the application makes once, at its start.
    pub(super) seed: u64,
}

/// The maximum number of pages or blocks that a workload tracks. At up to 32 bytes each, this
/// bounds memory to 2 GiB for any drive size.
pub(super) const MAX_PLACES: u64 = 1 << 26;

/// Returns `count` if a workload may track that many pages or blocks.
pub(super) fn places(count: u64) -> Option<u32> {
    u32::try_from(count).ok().filter(|_| count <= MAX_PLACES)
}

impl Space {
    /// Checks that the range has room for `least` bytes.
    ///
    /// # Errors
    /// The range is smaller than the application's minimum.
    pub(super) fn holds(&self, values: &Values, least: u64) -> Result<(), WorkloadError> {
        if self.length >= least {
            return Ok(());
        }
        let (least, length) = (Bytes(least), Bytes(self.length));
        let rule =
            format!("the workload takes at least {least}, but the target range has {length}");
        Err(values.invalid("length", rule))
    }
}

/// An endless stream of IOs from an application.
pub struct Application {
    model: Models,
    rng: Xoshiro256PlusPlus,
    arrivals: Option<Arrivals>,
    arrivals_rng: Xoshiro256PlusPlus,
    offset: Bytes,
}

impl Application {
    /// Creates the IOs of an application in the target range. `model` creates the model for a
    /// range.
    pub(super) fn open(
        values: &Values,
        target: &Target,
        model: impl FnOnce(Space) -> Result<Models, WorkloadError>,
    ) -> Result<Ios, WorkloadError> {
        let (offset, length) = values.target_range(target)?;
        let logical_block = target.logical_block;
        for (name, value) in [("offset", offset), ("length", length)] {
            if !value.is_multiple_of(logical_block) && values.given(name).is_some() {
                let rule = format!("it must be a multiple of the logical block, {logical_block}");
                return Err(values.invalid(name, rule));
            }
        }
        let [model_seed, own_seed, arrivals_seed] = [0, 1, 2].map(|i| seed_for(target.seed, i));
        let length = length.round_down(logical_block).0;
        Ok(Ios::Application(Box::new(Application {
            model: model(Space { length, logical_block, seed: own_seed })?,
            rng: Xoshiro256PlusPlus::seed_from_u64(model_seed),
            arrivals: Arrivals::read(values)?,
            arrivals_rng: Xoshiro256PlusPlus::seed_from_u64(arrivals_seed),
            offset,
        })))
    }
}

#[cfg(test)]
impl Application {
    /// Gives tests access to the model.
    pub(super) fn model(&self) -> &Models {
        &self.model
    }
}

impl Stream for Application {
    #[inline]
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        let at = match &mut self.arrivals {
            None => previous,
            Some(arrivals) => arrivals.next(previous, &mut self.arrivals_rng),
        };
        let Access { op, offset, len, stream } = self.model.next(&mut self.rng);
        Some(Io {
            op,
            stream,
            offset: Bytes(self.offset.0 + offset),
            len: Bytes(len),
            at,
            data: Data::Random,
        })
    }

    fn follows_answers(&self) -> bool {
        self.arrivals.is_none()
    }
}
