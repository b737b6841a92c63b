use std::collections::{BTreeMap, BTreeSet};

use crate::{Request, Volumes};
use flashscope_block::{Bytes, Nanos, Op};
use flashscope_stats::Estimate;
use proptest::prelude::*;

use super::*;
use flashscope_document::trace::*;

pub(super) fn request(at: u64, op: Op, offset: u64, len: u64) -> Request {
    let (at, offset, len) = (Nanos(at), Bytes(offset), Bytes(len));
    Request { at, latency: None, offset, len, volume: 0, op }
}

fn on(volume: u32, request: Request) -> Request {
    Request { volume, ..request }
}

fn names() -> Volumes {
    let mut names = Volumes::new();
    ["a", "b", "c"].iter().for_each(|name| _ = names.id(name.as_bytes()));
    names
}

fn facts(requests: &[Request]) -> TraceFacts {
    let mut found = Characteristics::new();
    found.push(requests);
    found.finish(&names())
}

fn exact(value: f64) -> Estimate {
    Estimate::symmetric(value, Some(0.0))
}

const SECOND: u64 = 1_000_000_000;

/// Returns requests of two volumes with all operations, few enough to count by hand.
fn small() -> Vec<Request> {
    vec![
        request(0, Op::Write, 0, 8192),
        request(SECOND, Op::Write, 8192, 4096),
        on(1, request(2 * SECOND, Op::Read, 8192, 4096)),
        request(3 * SECOND, Op::Trim, 12_288, 8192),
        request(4 * SECOND, Op::Read, 12_288, 512),
        request(5 * SECOND, Op::Write, 4096, 4096),
        request(6 * SECOND, Op::Flush, 0, 0),
        on(1, request(8 * SECOND, Op::Read, 12_288, 4096)),
    ]
}

#[test]
fn counts_match_a_calculation_by_hand() {
    let facts = facts(&small());
    let requests = Requests { total: 8, reads: 3, writes: 3, trims: 1, flushes: 1 };
    assert_eq!(facts.requests, requests);
    let bytes = ByteCounts { read: Bytes(8704), written: Bytes(16_384), trimmed: Bytes(8192) };
    assert_eq!(facts.bytes, bytes);
    assert_eq!(facts.read_share, Some(0.5));
    assert_eq!(facts.read_bytes_share, Some(8704.0 / 25_088.0));
    assert_eq!(facts.time.span_ns, Nanos(8 * SECOND));
    assert_eq!(facts.time.requests_per_s, Some(1.0));
    assert_eq!(facts.time.bytes_per_s, Some(25_088.0 / 8.0));
    // Pages 0, 1, 2, 3 of a and 2, 3 of b are accessed; 0, 1, 2 are written.
    let Footprint { accessed_pages, written_pages, trimmed_pages, highest_end, .. } =
        facts.footprint;
    assert_eq!((accessed_pages, written_pages), (exact(6.0), exact(3.0)));
    assert_eq!((trimmed_pages, highest_end), (Some(2), Bytes(20_480)));
    assert_eq!(facts.overwrite_ratio, Some(exact(16_384.0 / 12_288.0)));
    // The second write, the read after the trim, and the second read of b are sequential.
    let sequentiality = Sequentiality {
        sequential_share: 0.5,
        runs: 3,
        mean_run_requests: 2.0,
        mean_run_bytes: 25_088.0 / 3.0,
    };
    assert_eq!(facts.sequentiality, Some(sequentiality));
    let alignment = facts.alignment.unwrap();
    assert_eq!(alignment.lba_mod_8, [6, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((alignment.unaligned_share, alignment.partial_sectors), (1.0 / 6.0, 0));
    assert_eq!((facts.sampling.rate, facts.sampling.coverage), (1.0, Some(1.0)));
    let kinds: Vec<_> = facts.doubts.iter().map(|doubt| doubt.kind).collect();
    assert_eq!(kinds, [DoubtKind::WholeSeconds]);
}

#[test]
fn volumes_are_separate_and_ordered_by_bytes() {
    let facts = facts(&small());
    assert_eq!(facts.volume_count, 2);
    let [a, b] = &facts.volumes[..] else { panic!("two volumes") };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
    let requests = Requests { total: 6, reads: 1, writes: 3, trims: 1, flushes: 1 };
    assert_eq!((a.requests, a.bytes.read, a.bytes.written), (requests, Bytes(512), Bytes(16_384)));
    assert_eq!((a.accessed_bytes, a.written_bytes), (Some(Bytes(16_384)), Some(Bytes(12_288))));
    assert_eq!((b.accessed_bytes, b.written_bytes), (Some(Bytes(8192)), Some(Bytes(0))));
    assert_eq!((a.sequential_share, b.sequential_share), (Some(0.5), Some(0.5)));
    assert_eq!((a.highest_end, b.highest_end), (Bytes(20_480), Bytes(16_384)));
}

#[test]
fn writes_are_divided_singly_and_joined() {
    let lengths = facts(&small()).write_lengths.unwrap();
    assert_eq!((lengths.page_bytes, lengths.block_bytes), (Bytes(2048), Bytes(131_072)));
    // 8 KiB at 0 is a tail of 4 pages; the other writes are heads of 2.
    let requests = lengths.requests;
    assert_eq!((requests.writes, requests.mean_pages), (3, 8.0 / 3.0));
    assert_eq!(requests.head, Fragment { count: 2, pages: 4 });
    assert_eq!(requests.tail, Fragment { count: 1, pages: 4 });
    // The first two writes join to one of 6 pages.
    let joined = lengths.joined;
    assert_eq!((joined.writes, joined.mean_pages), (2, 4.0));
    assert_eq!(joined.head, Fragment { count: 1, pages: 2 });
    assert_eq!(joined.tail, Fragment { count: 1, pages: 6 });
    assert_eq!(joined.middle, Fragment::default());
}

#[test]
fn the_erase_block_has_limits_and_an_effect() {
    let mut found = Characteristics::with_block(Bytes(4096)).unwrap();
    found.push(&small());
    let lengths = found.finish(&names()).write_lengths.unwrap();
    assert_eq!(lengths.requests.middle, Fragment { count: 4, pages: 8 });
    for wrong in [0, 2048, 5000, 2 << 30] {
        assert!(Characteristics::with_block(Bytes(wrong)).is_err());
    }
}

#[test]
fn the_series_counts_everything_once_and_grows_to_the_footprint() {
    let facts = facts(&small());
    let Series { step_ns, steps } = &facts.series;
    assert!(steps.len() <= 400 && steps.len() > 200, "{}", steps.len());
    assert_eq!(steps.iter().map(|step| step.requests.total).sum::<u64>(), 8);
    assert_eq!(steps.iter().map(|step| step.bytes.written.0).sum::<u64>(), 16_384);
    let at = |time: u64| &steps[usize::try_from(time / step_ns.0).unwrap()];
    assert_eq!(at(3 * SECOND).requests.trims, 1);
    assert_eq!(at(0).accessed_bytes, Bytes(8192));
    assert_eq!(at(4 * SECOND).accessed_bytes, Bytes(5 * 4096));
    let last = steps.last().unwrap();
    assert_eq!((last.accessed_bytes, last.written_bytes), (Bytes(6 * 4096), Bytes(3 * 4096)));
}

#[test]
fn the_map_counts_every_byte_once_as_it_grows() {
    let mut requests = small();
    let far = request(9 * SECOND, Op::Write, 1 << 40, 1 << 35);
    let before = facts(&requests).heat_map;
    assert_eq!((before.row_bytes, before.rows), (Bytes(4096), 4));
    assert_eq!(before.written[..4], [4096, 4096, 0, 0]);
    requests.push(far);
    let map = facts(&requests).heat_map;
    assert!(map.rows <= 100 && map.rows > 50);
    assert_eq!(map.read.iter().sum::<u64>(), 8704);
    assert_eq!(map.written.iter().sum::<u64>(), 16_384 + (1 << 35));
    let rows = map.rows as usize;
    let columns = map.written.len() / rows;
    assert!(columns <= 200 && columns > 100);
    let last = &map.written[(columns - 1) * rows..];
    let first = usize::try_from((1 << 40) / map.row_bytes.0).unwrap();
    assert_eq!(last[first..].iter().sum::<u64>(), 1 << 35);
    assert_eq!(last[..first].iter().sum::<u64>(), 0);
}

#[test]
fn each_kind_of_doubt_is_reported_and_nothing_else() {
    let kinds = |requests: &[Request]| -> Vec<DoubtKind> {
        facts(requests).doubts.iter().map(|doubt| doubt.kind).collect()
    };
    let many = |step: u64, offset: u64, len: u64| -> Vec<Request> {
        (0..200).map(|i| request(i * step, Op::Read, offset + i * 65_536, len)).collect()
    };
    assert_eq!(kinds(&[]), [DoubtKind::Empty]);
    assert_eq!(kinds(&many(1_000_001, 0, 4096)), []);
    assert_eq!(kinds(&many(0, 0, 4096)), [DoubtKind::NoTime]);
    assert_eq!(kinds(&many(SECOND, 0, 4096)), [DoubtKind::WholeSeconds]);
    assert_eq!(kinds(&many(10, 0, 4096)), [DoubtKind::Rate]);
    // 400,000 requests per second are too many for a disk or a SATA drive; 100,000 are not.
    assert_eq!(kinds(&many(2_500, 0, 4096)), [DoubtKind::Rate]);
    assert_eq!(kinds(&many(10_000, 0, 4096)), []);
    assert_eq!(kinds(&many(100_000_000_000_001, 0, 4096)), []);
    assert_eq!(kinds(&many(1_000_000_000_000_001, 0, 4096)), [DoubtKind::Span]);
    let partial = [DoubtKind::SmallRequests, DoubtKind::PartialSectors];
    assert_eq!(kinds(&many(1_000_001, 0, 8)), partial);
    assert_eq!(kinds(&many(1_000_001, 0, 2 << 30)), [DoubtKind::LargeRequests]);
    assert_eq!(kinds(&many(1_000_001, 1 << 51, 4096)), [DoubtKind::Addresses]);
    assert_eq!(kinds(&many(1_000_001, 7 * 512, 4096)), [DoubtKind::Misaligned]);
    let mut swapped = many(1_000_001, 0, 4096);
    swapped.swap(10, 11);
    assert_eq!(kinds(&swapped), [DoubtKind::Backwards]);
    let text = &facts(&swapped).doubts[0].text;
    assert!(text.contains("at 1 of 200 requests, first at request 12, by up to 1 ms"), "{text}");
}

#[test]
fn requests_at_the_end_of_the_address_space_are_handled() {
    let requests = [
        request(0, Op::Write, 0, u64::MAX),
        request(u64::MAX, Op::Read, u64::MAX - 512, 512),
        request(0, Op::Trim, 0, u64::MAX),
        request(5, Op::Read, u64::MAX, 0),
    ];
    let facts = facts(&requests);
    assert_eq!((facts.sampling.cut, facts.footprint.trimmed_pages), (1, Some(1 << 52)));
    assert_eq!(facts.footprint.highest_end, Bytes(u64::MAX));
    assert_eq!(facts.footprint.accessed_pages, exact(262_145.0));
}

/// Returns the average working set in pages, computed instant by instant: the pages accessed in the
/// window that ends at the instant.
fn working_set_by_definition(requests: &[Request], window: u64, end: u64) -> f64 {
    let mut sum = 0;
    for instant in 0..end {
        // The instant stands for the unit of time that begins there.
        let inside = |r: &&Request| r.at.0 <= instant && r.at.0 + window > instant;
        let pages: BTreeSet<u64> = requests.iter().filter(inside).flat_map(pages_of).collect();
        sum += pages.len();
    }
    sum as f64 / end as f64
}

fn pages_of(request: &Request) -> std::ops::RangeInclusive<u64> {
    request.offset.0 / PAGE..=(request.end().0 - 1) / PAGE
}

fn accesses() -> impl Strategy<Value = Vec<Request>> {
    let access = (0u64..300, any::<bool>(), 0u64..60, 1u64..80);
    prop::collection::vec(access, 1..40).prop_map(|accesses| {
        let mut at = 0;
        let one = |(gap, write, sector, sectors): (u64, bool, u64, u64)| {
            at += gap;
            let op = if write { Op::Write } else { Op::Read };
            request(at, op, sector * 1024, sectors * 512)
        };
        accesses.into_iter().map(one).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // The division into batches does not change the result.
    #[test]
    fn agrees_with_definitions(requests in accesses(), cut in 0usize..40) {
        let mut found = Characteristics::new();
        let cut = cut.min(requests.len());
        found.push(&requests[..cut]);
        found.push(&requests[cut..]);
        let found = found.finish(&names());
        let writes: Vec<_> = requests.iter().filter(|r| r.op == Op::Write).copied().collect();
        let distinct = |of: &[Request]| of.iter().flat_map(pages_of).collect::<BTreeSet<_>>().len();
        prop_assert_eq!(found.footprint.accessed_pages, exact(distinct(&requests) as f64));
        prop_assert_eq!(found.footprint.written_pages, exact(distinct(&writes) as f64));

        let first = requests[0].at.0;
        let end = requests.last().map_or(0, |r| r.at.0) - first;
        for point in &found.working_set {
            let shifted: Vec<_> =
                requests.iter().map(|r| Request { at: Nanos(r.at.0 - first), ..*r }).collect();
            let wanted = working_set_by_definition(&shifted, point.window_ns.0, end);
            prop_assert!((point.bytes.value / PAGE as f64 - wanted).abs() < 1e-6);
        }
        prop_assert_eq!(!found.working_set.is_empty(), end >= 1024);

        for (concentration, of) in
            [(&found.access_concentration, &requests), (&found.write_concentration, &writes)]
        {
            let mut counts = BTreeMap::<u64, u64>::new();
            of.iter().flat_map(pages_of).for_each(|page| *counts.entry(page).or_default() += 1);
            let mut counts: Vec<_> = counts.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(concentration.is_some(), !counts.is_empty());
            let Some(concentration) = concentration else { continue };
            let all: u64 = counts.iter().sum();
            for hot in &concentration.hottest {
                let mut left = hot.pages * counts.len() as f64;
                let mut wanted = 0.0;
                for count in &counts {
                    wanted += left.clamp(0.0, 1.0) * *count as f64;
                    left -= 1.0;
                }
                prop_assert!((hot.share.value - wanted / all as f64).abs() < 1e-9);
            }
        }
    }
}

/// Returns the statistics of the same requests with each of these bounds. The requests concentrate
/// on few of many pages.
fn of_bounds<const N: usize>(bounds: [Bounds; N]) -> [TraceFacts; N] {
    let mut state = 1u64;
    let mut next = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut tables = bounds.map(|bounds| Characteristics::of(DIVISION, bounds));
    for step in 0..100 {
        let batch: Vec<_> = (0..1000)
            .map(|i| {
                let hot = next(10) < 7;
                let page = if hot { next(20_000) } else { next(400_000) };
                let op = if next(3) == 0 { Op::Read } else { Op::Write };
                request((step * 1000 + i) * 10_000, op, page * PAGE, PAGE * (1 + next(3)))
            })
            .collect();
        tables.iter_mut().for_each(|table| table.push(&batch));
    }
    tables.map(|table| table.finish(&names()))
}

#[test]
fn a_sample_represents_the_whole_within_its_interval() {
    let few = Bounds { groups: 1 << 10, ..BOUNDS };
    let [sampled, full] = of_bounds([few, BOUNDS]);
    assert!(sampled.sampling.rate < 0.05 && sampled.sampling.groups <= 1 << 10);
    assert!((sampled.sampling.coverage.unwrap() - 1.0).abs() < 0.1);
    assert_eq!(full.sampling.rate, 1.0);
    // The set contains every page, including pages that are not followed.
    assert_eq!(sampled.footprint, full.footprint);
    assert_eq!(sampled.series, full.series);
    let covered = |pairs: &mut dyn Iterator<Item = (Estimate, Estimate)>| {
        let (mut count, mut inside) = (0, 0);
        for (estimate, exact) in pairs {
            assert_eq!((exact.low, exact.high), (Some(exact.value), Some(exact.value)));
            assert!((estimate.value / exact.value - 1.0).abs() < 0.25, "{estimate:?} {exact:?}");
            count += 1;
            inside += u32::from(estimate.covers(exact.value));
        }
        (count, inside)
    };
    let sets = |facts: &TraceFacts| facts.working_set.clone().into_iter().map(|set| set.bytes);
    let (count, inside) = covered(&mut sets(&sampled).zip(sets(&full)));
    assert!(count > 15 && inside >= count - 2, "{inside} of {count}");
    let hot = |facts: &TraceFacts| {
        let both = [facts.access_concentration.clone(), facts.write_concentration.clone()];
        both.into_iter().flatten().flat_map(|c| c.hottest).map(|hot| hot.share).collect::<Vec<_>>()
    };
    let (count, inside) = covered(&mut hot(&sampled).into_iter().zip(hot(&full)));
    assert!(count == 10 && inside >= 8, "{inside} of {count}");
}

// The bounds are too small for the set of all pages.
#[test]
fn a_footprint_too_large_to_keep_is_estimated() {
    let little = Bounds { chunks: 100, ..BOUNDS };
    let least = Bounds { groups: 1 << 10, chunks: 100 };
    let [half, sampled, full] = of_bounds([little, least, BOUNDS]);
    assert_eq!(half.sampling.rate, 0.5);
    for facts in [&half, &sampled] {
        assert_eq!(facts.volumes[0].accessed_bytes, None);
        let last = |facts: &TraceFacts| facts.series.steps.last().unwrap().accessed_bytes.0 as f64;
        for (found, exact) in [
            (facts.footprint.accessed_pages, full.footprint.accessed_pages.value),
            (facts.footprint.written_pages, full.footprint.written_pages.value),
            (facts.overwrite_ratio.unwrap(), full.overwrite_ratio.unwrap().value),
        ] {
            assert!(found.low.unwrap() < found.value && found.value < found.high.unwrap());
            assert!(found.covers(exact), "{found:?} {exact}");
            assert!((found.value / exact - 1.0).abs() < 0.2);
        }
        assert!((last(facts) / facts.footprint.accessed_bytes.value - 1.0).abs() < 1e-9);
    }
}

#[test]
fn facts_are_deterministic() {
    let few = Bounds { groups: 1 << 10, chunks: 100 };
    let [a, b] = of_bounds([few, few]);
    assert_eq!(a, b);
}
