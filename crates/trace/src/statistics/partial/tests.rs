//! Tests that any division of the requests and any order of the parts give the same bytes.

use flashscope_block::Op;
use proptest::prelude::*;

use super::*;
use crate::Request;
use crate::statistics::tests::request;

/// A number of pages at which samples overflow.
const SAMPLE: usize = 16;

fn place(file: u32, part: u32, segment: u32) -> Place {
    Place { file, part, segment }
}

/// Returns the statistics as text.
fn finished(volume: VolumePart) -> String {
    let mut total = Total::default();
    total.push(volume);
    serde_json::to_string(&total.finish().1).unwrap()
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Trim), Just(Op::Flush)]
}

/// Generates requests at any times; offsets often continue the previous request.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let one = (0u64..1_000, ops(), 0u64..200, 1u64..40_000, any::<bool>());
    prop::collection::vec(one, 1..80).prop_map(|all| {
        let mut end = 0;
        let each = |(at, op, page, len, follows): (u64, Op, u64, u64, bool)| {
            let offset = if follows { end } else { page * 4096 };
            end = offset + len;
            let (offset, len) = if op == Op::Flush { (0, 0) } else { (offset, len) };
            request(at, op, offset, len)
        };
        all.into_iter().map(each).collect()
    })
}

proptest! {
    // Requests of a file may have any times. The parts and segments of the file are divided
    // anywhere, written to lines, read again, and merged in any order.
    #[test]
    fn any_division_of_a_file_gives_the_same_bytes(
        all in requests(),
        cuts in prop::collection::vec((any::<bool>(), any::<bool>()), 80),
        keys in prop::collection::vec(any::<u32>(), 80),
    ) {
        let mut whole = VolumePart::new("v", SAMPLE);
        all.iter().for_each(|request| whole.push(request, place(0, 0, 0)));
        let mut parts = vec![VolumePart::new("v", SAMPLE)];
        let mut at = place(0, 0, 0);
        for (request, (cut, new_part)) in all.iter().zip(cuts) {
            if cut {
                at = if new_part { place(0, at.part + 1, 0) } else { place(0, at.part, at.segment + 1) };
                parts.push(VolumePart::new("v", SAMPLE));
            }
            parts.last_mut().unwrap().push(request, at);
        }
        let mut shuffled: Vec<_> = keys.into_iter().zip(parts).collect();
        shuffled.sort_by_key(|(key, _)| *key);
        let mut merged = VolumePart::new("v", SAMPLE);
        for (_, part) in shuffled {
            merged.merge(VolumePart::from_line(&part.to_line().unwrap(), SAMPLE).unwrap());
        }
        prop_assert_eq!(finished(merged), finished(whole));
    }

    // Files hold the requests in the order of time, as collections are published.
    #[test]
    fn any_division_among_files_gives_the_same_numbers(
        mut all in requests(),
        cuts in prop::collection::vec(any::<bool>(), 80),
    ) {
        all.sort_by_key(|request| request.at);
        let mut whole = VolumePart::new("v", SAMPLE);
        all.iter().for_each(|request| whole.push(request, place(0, 0, 0)));
        let mut merged = VolumePart::new("v", SAMPLE);
        let mut at = place(0, 0, 0);
        for (request, cut) in all.iter().zip(cuts) {
            at.file += u32::from(cut);
            let mut part = VolumePart::new("v", SAMPLE);
            // Each request forms a segment. The segments merge in reverse order.
            at.segment += 1;
            part.push(request, at);
            part.merge(merged);
            merged = part;
        }
        let (merged, _) = merged.finish();
        let (whole, _) = whole.finish();
        prop_assert_eq!(merged.overlapping_files, 0);
        prop_assert_eq!(VolumeStatistics { files: 1, ..merged }, whole);
    }
}

#[test]
fn successive_requests_are_counted_across_files() {
    let mut merged = VolumePart::new("v", SAMPLE);
    // The second file by name comes first in time; the third begins before the second ends.
    for (file, times) in [(0, [100, 110]), (1, [10, 20]), (2, [15, 40])] {
        let mut part = VolumePart::new("v", SAMPLE);
        for (nth, at) in times.into_iter().enumerate() {
            let offset = at / 10 * 4096 + nth as u64;
            part.push(&request(at, Op::Write, offset, 4096), place(file, 0, 0));
        }
        merged.merge(part);
    }
    let (found, _) = merged.finish();
    assert_eq!((found.files, found.overlapping_files, found.backwards), (3, 1, 1));
    // From 10 to 20, back to 15, then 40, 100 and 110.
    let gaps = found.inter_arrival_ns.unwrap();
    assert_eq!((gaps.min, gaps.max, gaps.mean), (0, 60, 105.0 / 5.0));
    assert_eq!((found.start_ns, found.end_ns), (Nanos(10), Nanos(110)));
}
