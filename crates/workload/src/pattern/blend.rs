use flashscope_block::{Io, Nanos, Op};
use rand::distr::{Distribution, Uniform};
use rand::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Pattern, PatternStream};
use crate::{Stream, seed_for};

/// All IOs, in percent.
pub(super) const ALL: u8 = 100;

/// The part in [`seed_for`] that gives the choice between reads and writes its own seed. The
/// addresses are therefore the same for any share of reads.
const CHOICE: u64 = 1;

/// The IOs of a pattern, a share of which become reads.
pub(super) struct BlendStream {
    pattern: PatternStream,
    reads_percent: u8,
    percent: Uniform<u8>,
    rng: Xoshiro256PlusPlus,
}

impl BlendStream {
    /// Turns each IO of `pattern` into a read with a probability of `reads_percent`, independently.
    pub(super) fn new(pattern: &Pattern, reads_percent: u8) -> BlendStream {
        BlendStream {
            pattern: pattern.stream(0),
            reads_percent,
            percent: Uniform::new(0, ALL).expect("0 is less than 100"),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed_for(pattern.seed, CHOICE)),
        }
    }
}

impl Stream for BlendStream {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        let io = self.pattern.next(previous)?;
        let reads = self.percent.sample(&mut self.rng) < self.reads_percent;
        Some(if reads { Io { op: Op::Read, ..io } } else { io })
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::pattern::{Address, Reference, Timing};

    const IOS: u64 = 20_000;

    fn blend(reads_percent: u8, address: Address, seed: u64) -> Reference {
        let pattern = Pattern {
            op: Op::Write,
            address,
            timing: Timing::Consecutive,
            io_size: Bytes::kib(4),
            io_shift: Bytes(0),
            target_offset: Bytes::mib(1),
            target_size: Bytes::mib(4),
            io_count: IOS,
            io_ignore: 0,
            seed,
        };
        Reference::Blend { pattern, reads_percent, queue_depth: 8, time: None }
    }

    fn ios(reference: &Reference) -> Vec<Io> {
        reference.validate(Bytes::mib(8), Bytes(512)).unwrap();
        let mut streams = reference.streams(|_| Err("a trace")).unwrap();
        std::iter::from_fn(|| streams[0].next(Nanos(0))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        // The number of reads is within five standard deviations of the requested share, and exact
        // for 0 and 100 %.
        #[test]
        #[allow(clippy::cast_precision_loss)]
        fn shares_are_kept(percent in 0u8..=100, seed in any::<u64>()) {
            let ios = ios(&blend(percent, Address::Random, seed));
            let reads = ios.iter().filter(|io| io.op == Op::Read).count();
            let (n, p) = (IOS as f64, f64::from(percent) / 100.0);
            let tolerance = 5.0 * (n * p * (1.0 - p)).sqrt();
            prop_assert!((reads as f64 - n * p).abs() <= tolerance, "{} of {}", reads, n);
        }

        // The seed alone determines the IOs, and the share of reads does not change addresses.
        #[test]
        fn the_seed_alone_determines_the_order(percent in 1u8..100, other in 0u8..=100, seed in any::<u64>()) {
            let all = |percent, seed| ios(&blend(percent, Address::Random, seed));
            let places = |ios: &[Io]| ios.iter().map(|io| io.offset).collect::<Vec<_>>();
            let first = all(percent, seed);
            prop_assert_eq!(&first, &all(percent, seed));
            prop_assert_eq!(places(&first), places(&all(other, seed)));
            prop_assert_ne!(places(&first), places(&all(percent, seed ^ 1)));
        }
    }

    // Random addresses are aligned and uniform over the whole target space, and sequential ones are
    // in order.
    #[test]
    fn places_are_as_asked() {
        let random = ios(&blend(50, Address::Random, 1));
        let slots = 1024u64;
        let mut hits = vec![0u32; 1024];
        for io in &random {
            assert!(io.offset.is_multiple_of(Bytes::kib(4)));
            let slot = (io.offset - Bytes::mib(1)).0 / 4096;
            assert!(slot < slots);
            hits[usize::try_from(slot).unwrap()] += 1;
        }
        // Each slot gets 19.5 IOs on average, with a standard deviation of 4.4. No slot out of
        // 1,024 deviates by more than 6 standard deviations.
        assert!(hits.iter().all(|&hits| hits < 46), "{}", hits.iter().max().unwrap());
        let halves = random.iter().filter(|io| io.offset < Bytes::mib(3)).count() as u64;
        assert!(halves.abs_diff(IOS / 2) < 400, "{halves}");
        let sequential = ios(&blend(50, Address::Sequential, 1));
        let in_order = |pair: &[Io]| {
            let next = pair[0].end();
            pair[1].offset == if next == Bytes::mib(5) { Bytes::mib(1) } else { next }
        };
        assert!(sequential.windows(2).all(in_order));
    }

    // A blend states its requirements on the drive, and an impossible blend is refused.
    #[test]
    fn says_what_it_needs() {
        let of = |percent| blend(percent, Address::Random, 1);
        assert_eq!((of(99).writes(), of(100).writes(), of(0).in_flight()), (true, false, 8));
        assert_eq!((of(5).io_count(), of(5).streams_count(), of(5).largest_io().0), (IOS, 1, 4096));
        let refused = |reference: &Reference| {
            reference.validate(Bytes::mib(8), Bytes(512)).unwrap_err().to_string()
        };
        assert_eq!(refused(&of(101)), "Reads = 101 %: at most 100 %");
        let Reference::Blend { pattern, .. } = of(0) else { panic!("a blend") };
        let idle = Reference::Blend { pattern, reads_percent: 0, queue_depth: 0, time: None };
        assert_eq!(refused(&idle), "QueueDepth = 0: at least one");
        assert!(of(0).validate(Bytes::mib(2), Bytes(512)).is_err());
    }
}
