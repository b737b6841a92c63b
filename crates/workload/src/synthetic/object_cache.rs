use flashscope_block::{Bytes, Op, StreamId};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{
    Access, COLD_STREAM, Due, HOT_STREAM, MAX_REQUEST, REQUEST, Space, geometric,
};
use super::generator::threshold;
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// A cache of small and large objects on a drive, as in `CacheLib`.
///
/// A hash assigns small objects to buckets: an insert reads a random bucket and writes it back.
/// Large objects gather in a region in memory. A full region is written in place of the oldest one.
/// A lookup reads a bucket, or an object anywhere in a written region.
///
/// The buckets are in the first part of the target range. Buckets become invalid at random, and
/// regions in the order of writing. A drive that separates buckets from regions therefore moves
/// fewer pages.
pub(super) const KIND: Kind = Kind {
    name: "object-cache",
    argument: None,
    summary: "a cache of small objects in buckets that are rewritten at random, and of large objects in regions \
              that are written in turn",
    source: "CacheLib's repository, discussions 157 and 241: buckets of 4 KiB, regions of 16 MiB, and two fifths \
             of the space for buckets. The shares of requests are this project's own choice",
    leaves_out: Some(
        "popular objects, which memory answers; admission policies; deletions; and large objects that are written \
         again when their region is reclaimed",
    ),
    fields: &[
        field("bucket", Some("4KiB"), "bytes in a bucket, up to 1MiB"),
        field("region", Some("16MiB"), "bytes in a region, up to 1GiB"),
        field("small_space", Some("0.4"), "share of the space for buckets, between 0 and 1"),
        field("small", Some("0.9"), "share of objects that are small, 0 to 1"),
        field("object", Some("32KiB"), "mean bytes of a large object, up to the region"),
        field("lookups", Some("0.8"), "share of requests that look up an object, below 1"),
        field("trims", Some("false"), "`true` trims a region before it is written again"),
        field(
            "streams",
            Some("false"),
            "`true` marks buckets as stream 1 and regions as 2, for drives that separate streams",
        ),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

/// The minimum number of buckets, and of regions.
const MIN_COUNT: u64 = 2;

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let unit = space.logical_block;
    let bucket = values.bytes("bucket", unit, unit.0..=Bytes::mib(1).0)?.unwrap_or_default();
    let region = values.bytes("region", unit, unit.0..=Bytes::gib(1).0)?.unwrap_or_default();
    space.holds(values, MIN_COUNT * (bucket + region))?;
    let share = values.share("small_space")?;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let buckets = (share * space.length as f64) as u64 / bucket;
    let regions = (space.length - (buckets * bucket).min(space.length)) / region;
    if buckets < MIN_COUNT || regions < MIN_COUNT {
        let rule = format!(
            "it leaves room for {buckets} buckets and {regions} regions, and each must be at least {MIN_COUNT}"
        );
        return Err(values.invalid("small_space", rule));
    }
    let rule = "it must be a number from 0 and below 1";
    let lookups = values.number("lookups", rule, |share: &f64| (0.0..1.0).contains(share))?;
    let streams = values.flag("streams")?;
    Ok(Models::ObjectCache(ObjectCache {
        bucket,
        buckets,
        region,
        regions,
        unit: unit.0,
        small: threshold(values.share("small")?),
        object: values.bytes("object", unit, unit.0..=region)?.unwrap_or_default(),
        lookups: threshold(lookups.unwrap_or_default()),
        trims: values.flag("trims")?,
        streams: if streams { [HOT_STREAM, COLD_STREAM] } else { [0, 0] },
        request: values.bytes(REQUEST.name, unit, unit.0..=MAX_REQUEST.0)?.unwrap_or_default(),
        written: 0,
        gathered: 0,
        due: Due::default(),
    }))
}

pub(super) struct ObjectCache {
    /// The number of bytes in a bucket.
    bucket: u64,
    /// The number of buckets.
    buckets: u64,
    /// The number of bytes in a region.
    region: u64,
    /// The number of regions.
    regions: u64,
    /// The unit of the sizes of large objects.
    unit: u64,
    /// An object is small if its random number is below this.
    small: u64,
    /// The mean bytes of a large object.
    object: u64,
    /// A request is a lookup if its random number is below this.
    lookups: u64,
    trims: bool,
    /// The streams of buckets and of regions.
    streams: [StreamId; 2],
    request: u64,
    /// The number of regions written so far.
    written: u64,
    /// Bytes of objects in the region in memory.
    gathered: u64,
    /// The reads, writes and trims that are due.
    due: Due,
}

impl ObjectCache {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            match self.due.next(self.request) {
                Some(access) => return access,
                None => self.serve(rng),
            }
        }
    }

    /// Serves a request. An insert of a large object may need no IO, and neither does a lookup of
    /// one before the first region is written.
    fn serve(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let looks_up = rng.next_u64() < self.lookups;
        let is_small = rng.next_u64() < self.small;
        if is_small {
            let offset = rng.random_range(0..self.buckets) * self.bucket;
            let [stream, _] = self.streams;
            self.due.push(Access { stream, ..Access::new(Op::Read, offset, self.bucket) });
            if !looks_up {
                self.due.push(Access { stream, ..Access::new(Op::Write, offset, self.bucket) });
            }
            return;
        }
        let len = self.draw_object(rng);
        match looks_up {
            true => self.look_up(len, rng),
            false => self.insert(len),
        }
    }

    /// Draws the size of a large object: geometrically distributed, at most a region.
    #[allow(clippy::cast_precision_loss)] // a region is far below 2^53 bytes
    fn draw_object(&self, rng: &mut impl Rng) -> u64 {
        let units = geometric(self.object as f64 / self.unit as f64, rng);
        units.saturating_mul(self.unit).min(self.region)
    }

    /// Reads `len` bytes anywhere in a random written region.
    fn look_up(&mut self, len: u64, rng: &mut Xoshiro256PlusPlus) {
        let live = self.written.min(self.regions);
        if live == 0 {
            return;
        }
        let start = rng.random_range(0..=(self.region - len) / self.unit) * self.unit;
        let offset = self.offset(rng.random_range(0..live)) + start;
        let [_, stream] = self.streams;
        self.due.push(Access { stream, ..Access::new(Op::Read, offset, len) });
    }

    /// Adds an object to the region in memory. If it does not fit, writes the region in place of
    /// the oldest one first.
    fn insert(&mut self, len: u64) {
        if self.gathered + len > self.region {
            let offset = self.offset(self.written % self.regions);
            let [_, stream] = self.streams;
            if self.trims && self.written >= self.regions {
                self.due.push(Access { stream, ..Access::new(Op::Trim, offset, self.region) });
            }
            self.due.push(Access { stream, ..Access::new(Op::Write, offset, self.region) });
            self.written += 1;
            self.gathered = 0;
        }
        self.gathered += len;
    }

    fn offset(&self, region: u64) -> u64 {
        self.buckets * self.bucket + region * self.region
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Io;

    use super::super::tests::{LARGE, assert_law, assert_nothing_dead_is_wanted, ios_on};
    use super::*;

    /// Returns the total length in bytes of the IOs that `wanted` accepts.
    #[allow(clippy::cast_precision_loss)]
    fn bytes(ios: &[Io], wanted: impl Fn(&Io) -> bool) -> f64 {
        ios.iter().filter(|io| wanted(io)).map(|io| io.len.0).sum::<u64>() as f64
    }

    #[test]
    fn buckets_and_regions_take_their_shares_of_writes() {
        let spec = "object-cache?region=1MiB&streams=true&small=0.8&object=16KiB&lookups=0.5";
        let ios = ios_on(&LARGE, spec, 300_000);
        let written = |stream| bytes(&ios, |io| io.op == Op::Write && io.stream == stream);
        // A region ends before the first object that does not fit. The space left is the mean
        // square of the sizes divided by twice their mean: about one mean size for a geometric
        // distribution.
        let (small, large) = (0.8 * 4096.0, 0.2 * 16384.0);
        let filled = 1.0 - 16.0 / 1024.0;
        let expected = small / (large / filled);
        let found = written(HOT_STREAM) / written(COLD_STREAM);
        assert!((found / expected - 1.0).abs() < 0.03, "{found}, not {expected}");
        // Each insert of a small object reads its bucket.
        let reads = bytes(&ios, |io| io.op == Op::Read && io.stream == HOT_STREAM);
        assert!((reads / written(HOT_STREAM) - 2.0).abs() < 0.03);
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn every_bucket_is_as_likely_and_regions_are_written_in_turn() {
        let spec = "object-cache?region=1MiB&bucket=64KiB&streams=true&request=1MiB";
        let ios = ios_on(&LARGE, spec, 200_000);
        let is = |io: &&Io, stream| io.op == Op::Write && io.stream == stream;
        let buckets = usize::try_from(LARGE.capacity.0 * 2 / 5 / (64 << 10)).expect("few");
        let mut counts = vec![0.0; buckets];
        let rewritten = ios.iter().filter(|io| is(io, HOT_STREAM));
        rewritten.for_each(|io| counts[usize::try_from(io.offset.0 / (64 << 10)).unwrap()] += 1.0);
        let places = counts.len() as f64;
        assert_law(&counts, |_| 1.0 / places);
        let regions: Vec<u64> =
            ios.iter().filter(|io| is(io, COLD_STREAM)).map(|io| io.offset.0).collect();
        let (first, count) = (regions[0], regions.iter().filter(|at| **at == regions[0]).count());
        assert!(count > 2);
        for pair in regions.windows(2) {
            assert!(pair[1] == pair[0] + (1 << 20) || pair[1] == first, "{pair:?}");
        }
    }

    #[test]
    fn trimmed_regions_are_written_before_they_are_read_again() {
        let spec = "object-cache?region=256KiB&trims=true&small=0.1&lookups=0.2&object=64KiB";
        assert_nothing_dead_is_wanted(spec);
    }

    #[test]
    fn a_range_without_room_for_two_regions_is_refused() {
        let error = super::super::open("object-cache?small_space=0.9", &LARGE).map(|_| ());
        let error = error.expect_err("one region at most").to_string();
        assert!(error.contains("regions, and each must be at least 2"), "{error}");
    }
}
