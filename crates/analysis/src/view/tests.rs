use flashscope_block::column::LATENCY;
use flashscope_block::{Bytes, Errno, Nanos, Op, Record};
use flashscope_result::activity::{Activities, Activity};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::scripted::{experiment_of, manifest, micro_benchmark, no_facts, run};
use std::cmp::Reverse;

/// A result with a run for each slice of latencies; IOs of 13 ns fail.
struct ScriptedResult {
    folder: ResultFolder,
    manifest: Manifest,
    facts: Facts,
    overviews: Overviews,
    _place: TempDir,
}

/// The latency of a failed IO, in ns.
const FAILED: u64 = 13;

fn record(index: usize, latency: u64) -> Record {
    let index = index as u64;
    Record {
        submitted: Nanos(index * 10),
        latency: Nanos(latency),
        offset: Bytes(index * 512),
        len: Bytes(512),
        op: Op::Write,
        stream: 3,
        result: if latency == FAILED { Err(Errno::EIO) } else { Ok(()) },
        late: Nanos(index % 5),
    }
}

impl ScriptedResult {
    fn new(runs: &[&[u64]]) -> ScriptedResult {
        let place = tempfile::tempdir().unwrap();
        let numbered = || (1u32..).zip(runs);
        let planned = numbered().map(|(id, latencies)| run(id, latencies.len() as u64)).collect();
        let experiment = experiment_of("RW", planned);
        let manifest = manifest(vec![micro_benchmark("locality", vec![experiment])]);
        let folder = ResultFolder::create(&place.path().join("r"), &manifest).unwrap();
        let mut recorder = folder.recorder();
        for (id, latencies) in numbered() {
            recorder.begin(id).unwrap();
            for (index, &latency) in latencies.iter().enumerate() {
                recorder.push(&record(index, latency)).unwrap();
            }
            recorder.end().unwrap();
        }
        let facts = crate::analyse(&folder, &manifest).unwrap();
        ScriptedResult { folder, manifest, facts, overviews: Overviews::new(2), _place: place }
    }

    fn viewer(&self) -> Viewer<'_> {
        let ScriptedResult { folder, manifest, facts, overviews, .. } = self;
        Viewer { folder, manifest, facts, overviews }
    }

    fn codes(&self, window: Range<u64>, columns: u64) -> (Colours, Vec<Vec<u8>>) {
        use base64::Engine as _;
        let found = self.viewer().colours("locality", "RW", window, columns).unwrap().unwrap();
        let decode = |row: &ColourRow| base64::prelude::BASE64_STANDARD.decode(&row.codes).unwrap();
        let codes = found.rows.iter().map(decode).collect();
        (found, codes)
    }
}

/// Returns response times in pseudo-random order, between 20 and 20 + `range`.
fn scattered(count: u64, range: u64) -> Vec<u64> {
    (0..count).map(|i| 20 + i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % range).collect()
}

/// Returns the outline of one run.
fn outline(latencies: &[u64], window: Range<u64>, buckets: u64) -> Outline {
    ScriptedResult::new(&[latencies]).viewer().outline(1, window, buckets).unwrap().unwrap()
}

#[test]
fn a_short_window_shows_every_io() {
    let latencies = scattered(800, 1000);
    assert_eq!(outline(&latencies, 0..u64::MAX, OUTLINE_BUCKETS).latency_ns, latencies);
    let part = outline(&latencies, 100..120, 10);
    assert_eq!(part.latency_ns, latencies[100..120]);
    assert_eq!((part.ios, part.index[0]), (800, 100));
    assert_eq!(outline(&latencies, 800..900, 10).index, [0_u64; 0]);
}

#[test]
fn views_of_missing_runs_are_absent() {
    let scripted = ScriptedResult::new(&[&[20, 30]]);
    let viewer = scripted.viewer();
    assert_eq!(viewer.outline(2, 0..9, 9).unwrap(), None);
    assert_eq!(viewer.run_view::<LatencyHistogram>(2, 0..9).unwrap(), None);
    assert_eq!(viewer.ios(0, 0..9).unwrap(), None);
    assert_eq!(viewer.colours("locality", "SW", 0..9, 9).unwrap(), None);
    assert_eq!(viewer.colours("order", "RW", 0..9, 9).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // The outline also keeps the order, respects the limit, and shows every IO as recorded.
    #[test]
    fn long_windows_keep_their_extremes(
        mut latencies in prop::collection::vec(20u64..1 << 40, 900..5000),
        from in 0u64..50,
        short in 0u64..50,
    ) {
        latencies[777] = FAILED;
        let (to, count) = (latencies.len() as u64 - short, latencies.len());
        let shown = outline(&latencies, from..to, OUTLINE_BUCKETS);
        prop_assert!(shown.index.len() as u64 <= 2 * OUTLINE_BUCKETS + 1);
        let failed = shown.index.iter().position(|&index| index == 777).unwrap();
        prop_assert_eq!(shown.errno[failed], 5);
        prop_assert_eq!(shown.errno.iter().filter(|&&errno| errno != 0).count(), 1);
        prop_assert!(shown.index.is_sorted_by(|a, b| a < b));
        for (&index, &latency) in shown.index.iter().zip(&shown.latency_ns) {
            prop_assert!((from..to).contains(&index));
            prop_assert_eq!(latencies[usize::try_from(index).unwrap()], latency);
        }
        let window = &latencies[usize::try_from(from).unwrap()..count - usize::try_from(short).unwrap()];
        prop_assert_eq!(shown.latency_ns.iter().max(), window.iter().max());
        prop_assert_eq!(shown.latency_ns.iter().min(), window.iter().min());
    }
}

#[test]
fn outlines_are_the_same_with_and_without_an_overview() {
    let mut latencies = scattered(300_100, 1 << 30);
    latencies[123_456] = FAILED;
    latencies[250_000..260_000].fill(FAILED);
    let scripted = ScriptedResult::new(&[&latencies]);
    let rows = scripted.folder.rows(1).unwrap();
    let overview = Overview::of(&rows, 3).unwrap();
    assert_eq!(overview, Overview::of(&rows, 1).unwrap());
    let edges = [0, 1, 255, 256, 1000, 150_007, 299_999, 300_000, 300_031, 300_100];
    let mut used = 0;
    for (i, from) in edges.into_iter().enumerate() {
        for to in edges.into_iter().skip(i) {
            for buckets in [1, 7, 100, 400] {
                let without = outline::outline(1, &rows, None, from..to, buckets, 700).unwrap();
                let with = outline::outline(1, &rows, Some(&overview), from..to, buckets, 700);
                assert_eq!(with.unwrap(), without, "{from}..{to} in {buckets}");
                let most = if to - from <= 2 * buckets { to - from } else { 3 * buckets };
                assert!(without.index.len() as u64 <= most, "{from}..{to} in {buckets}");
                used += u32::from(outline::needs_overview(&rows, &(from..to), buckets));
            }
        }
    }
    assert!(used > 50);
}

// The coarser outline equals that from the records with buckets of the same length.
#[test]
fn outlines_get_coarser_without_the_records() {
    for count in [700, 5000, 300_000] {
        let mut latencies = scattered(count, 1 << 30);
        latencies[600..620].fill(FAILED);
        let scripted = ScriptedResult::new(&[&latencies]);
        let direct = |buckets| scripted.viewer().outline(1, 0..u64::MAX, buckets);
        let finest = direct(400).unwrap().unwrap();
        assert_eq!(finest.coarser(400, 400), finest);
        for fewer in [200, 100, 50] {
            let coarser = finest.coarser(400, fewer);
            assert!(coarser.index.len() as u64 <= 3 * fewer, "{count} in {fewer}");
            assert_eq!(coarser.running_means, finest.running_means);
            let made = if count <= 800 { 1 } else { count.div_ceil(400) };
            let bucket = if count <= 2 * fewer { 1 } else { count.div_ceil(fewer) };
            let bucket = usize::try_from(bucket.next_multiple_of(made)).unwrap();
            assert_eq!(coarser.index, standing_out(&latencies, bucket), "{count} in {fewer}");
            let at = |index: &u64| latencies[usize::try_from(*index).unwrap()];
            assert_eq!(coarser.latency_ns, coarser.index.iter().map(at).collect::<Vec<_>>());
        }
    }
}

/// Returns the positions of the first fastest, slowest and failed IO of each `bucket` IOs.
fn standing_out(latencies: &[u64], bucket: usize) -> Vec<u64> {
    let of_bucket = |(nth, latencies): (usize, &[u64])| {
        let all = || latencies.iter().enumerate();
        let fastest = all().min_by_key(|(_, latency)| **latency);
        let slowest = all().rev().max_by_key(|(_, latency)| **latency);
        let failed = all().find(|(_, latency)| **latency == FAILED);
        let positions = [fastest, slowest, failed].into_iter().flatten();
        positions.map(|(i, _)| (nth * bucket + i) as u64).collect::<std::collections::BTreeSet<_>>()
    };
    latencies.chunks(bucket).enumerate().flat_map(of_bucket).collect()
}

#[test]
fn colours_are_halved_without_the_records() {
    let mut latencies = scattered(4097, 1 << 30);
    latencies[64..80].fill(FAILED);
    let scripted = ScriptedResult::new(&[&latencies, &latencies[..3000]]);
    let (mut halved, _) = scripted.codes(0..u64::MAX, 4097);
    for columns in [2049, 1025, 513, 257] {
        halved = halved.halved();
        assert_eq!(halved, scripted.codes(0..u64::MAX, columns).0);
        assert_eq!(halved.columns(), columns);
    }
}

#[test]
fn neighbours_get_fewer_without_the_records() {
    let mut latencies = scattered(900, 1 << 30);
    latencies[300..310].fill(FAILED);
    for (slow, position) in [(3, 10), (2, 899), (2, 20), (1, 500)] {
        latencies[position] = slow << 40;
    }
    let scripted = ScriptedResult::new(&[&latencies]);
    let slowest = |count, around| scripted.viewer().slowest(1, count, around).unwrap();
    let all = slowest(3, 25);
    assert_eq!(all.len(), 2);
    for (count, around) in [(3, 25), (2, 25), (1, 25), (3, 2), (1, 10), (0, 0)] {
        assert_eq!(Ios::fewer(&all, count, around), slowest(count, around), "{count}, {around}");
    }
}

#[test]
fn an_overview_is_made_once_and_again_for_a_longer_run() {
    let scripted = ScriptedResult::new(&[&scattered(300_000, 100), &scattered(1000, 100)]);
    let rows = |run| scripted.folder.rows(run).unwrap();
    let first = scripted.overviews.of(1, &rows(1)).unwrap().unwrap();
    let second = scripted.overviews.of(1, &rows(1)).unwrap().unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    assert_eq!(scripted.overviews.of(2, &rows(2)).unwrap(), None);
    let longer = ScriptedResult::new(&[&scattered(300_001, 100)]);
    let third = scripted.overviews.of(1, &longer.folder.rows(1).unwrap()).unwrap().unwrap();
    assert_ne!(first, third);
}

#[test]
fn bins_count_each_io_once_and_percentiles_are_right() {
    let mut latencies = scattered(140_000, 1 << 34);
    latencies.extend([0, 1, 9, 10, 11, 99, 100, 999_999_999, 1_000_000_000, u64::MAX >> 1]);
    latencies.extend([FAILED; 3]);
    let count = latencies.len() as u64;
    let scripted = ScriptedResult::new(&[&latencies]);
    for window in [0..count, 0..u64::MAX, 5..131_073, 140_000..140_013, 7..7, 140_010..140_013] {
        let found =
            scripted.viewer().run_view::<LatencyHistogram>(1, window.clone()).unwrap().unwrap();
        let range = usize::try_from(found.from).unwrap()..usize::try_from(found.to).unwrap();
        assert_eq!((found.from, found.to), (window.start, window.end.min(count)));
        let mut counted: Vec<u64> =
            latencies[range].iter().copied().filter(|&latency| latency != FAILED).collect();
        counted.sort_unstable();
        assert_eq!(found.ios, counted.len() as u64);
        let mut rest = &counted[..];
        for bin in &found.bins {
            #[allow(clippy::cast_precision_loss)]
            let inside = |latency: &&u64| {
                (bin.from_ns..bin.to_ns).contains(&(**latency as f64)) || **latency < 1
            };
            let ios = rest.iter().take_while(inside).count();
            assert_eq!(ios as u64, bin.ios, "{bin:?}");
            rest = &rest[ios..];
        }
        assert!(rest.is_empty());
        for (percent, value) in &found.percentiles {
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_sign_loss,
                clippy::cast_possible_truncation
            )]
            let rank = ((percent / 100.0 * counted.len() as f64).ceil() as usize).max(1) - 1;
            let exact = counted[rank];
            assert!(value.abs_diff(exact) <= exact / 1000, "p{percent}: {value} for {exact}");
        }
        assert_eq!(found.percentiles.is_empty(), counted.is_empty());
    }
}

fn latencies_of(ios: &Ios) -> Vec<u64> {
    ios.columns[LATENCY].iter().map(|latency| latency.cast_unsigned()).collect()
}

#[test]
fn ios_are_as_recorded() {
    let latencies = scattered(1000, 500);
    let scripted = ScriptedResult::new(&[&latencies]);
    let ios = scripted.viewer().ios(1, 990..2000).unwrap().unwrap();
    assert_eq!((ios.ios, ios.from, latencies_of(&ios).len()), (1000, 990, 10));
    assert_eq!(latencies_of(&ios), latencies[990..]);
    let json = serde_json::to_value(&ios).unwrap();
    let value = |column: &str, row: usize| json[column][row].as_i64().unwrap();
    assert_eq!(value("submitted_ns", 0), 9900);
    assert_eq!(value("offset_bytes", 9), 999 * 512);
    assert_eq!(
        ["length_bytes", "op", "stream", "errno"].map(|name| value(name, 0)),
        [512, 1, 3, 0]
    );
    assert_eq!(value("late_ns", 4), 4);
    assert_eq!(serde_json::from_value::<Ios>(json).unwrap(), ios);
}

#[test]
fn the_slowest_are_shown_with_their_neighbours() {
    let mut latencies = vec![100; 1000];
    (latencies[2], latencies[500], latencies[505], latencies[700]) = (900, 800, 700, 650);
    let scripted = ScriptedResult::new(&[&latencies]);
    let found = scripted.viewer().slowest(1, 3, 4).unwrap();
    let windows: Vec<_> = found.iter().map(|ios| (ios.from, latencies_of(ios).len())).collect();
    assert_eq!(windows, [(0, 7), (496, 14)]);
    assert_eq!(latencies_of(&found[0])[2], 900);
    assert_eq!(scripted.viewer().slowest(1, 0, 4).unwrap(), []);
    let failed = ScriptedResult::new(&[&[FAILED, 5, FAILED]]);
    assert_eq!(failed.viewer().slowest(1, 3, 0).unwrap().len(), 1);
}

#[test]
fn activities_during_ios_are_returned_the_longest_first() {
    let scripted = ScriptedResult::new(&[&[100; 50]]);
    let activity = |start: u64, end: u64| Activity {
        kind: "cleaning".into(),
        start_ns: Nanos(start),
        end_ns: Nanos(end),
        unit: 0,
        block: 7,
        pages_read: 1,
        pages_programmed: 1,
        blocks_erased: 1,
    };
    // The IO at position 10 is in flight from 100 to 200 ns.
    let items = vec![activity(0, 50), activity(150, 160), activity(900, 950)];
    scripted.folder.write_activities(1, &Activities { items, left_out: 0 }).unwrap();
    let ios = scripted.viewer().ios(1, 10..11).unwrap().unwrap();
    assert_eq!(ios.activities, [activity(150, 160)]);
    let items: Vec<Activity> = (0..1500).map(|i| activity(100, 101 + i % 1400)).collect();
    scripted.folder.write_activities(1, &Activities { items, left_out: 0 }).unwrap();
    let ios = scripted.viewer().ios(1, 10..11).unwrap().unwrap();
    assert_eq!(ios.activities.len(), 1000);
    assert!(ios.activities.iter().all(|activity| activity.end_ns.0 > 450));
}

#[test]
fn colours_follow_the_logarithm_of_the_slowest_io() {
    let short = [100, 100, FAILED, FAILED];
    let long = [100, 1_000, 10_000, 1_000_000, 100, FAILED];
    let scripted = ScriptedResult::new(&[&short, &long]);
    let (colours, codes) = scripted.codes(0..u64::MAX, 100);
    assert_eq!((colours.low_ns, colours.high_ns), (100.0, 1e6));
    assert_eq!((colours.from, colours.to, colours.ios_per_column), (0, 6, 1));
    assert_eq!(codes, [vec![1, 1, 0, 0], vec![1, 65, 128, 255, 1, 0]]);
    let (colours, codes) = scripted.codes(1..6, 3);
    assert_eq!((colours.from, colours.ios_per_column), (1, 2));
    assert_eq!(codes, [vec![1, 0], vec![128, 255, 0]]);
    assert_eq!((colours.rows[0].run, colours.rows[0].ios), (1, 4));
    // A drive without variation has a single colour.
    let (_, codes) = ScriptedResult::new(&[&[50, 50]]).codes(0..9, 9);
    assert_eq!(codes, [[1, 1]]);
}

#[test]
fn a_coarse_column_shows_its_slowest_io() {
    let mut long = scattered(300_000, 1 << 20);
    long[..2000].fill(FAILED);
    let scripted = ScriptedResult::new(&[&long, &scattered(70_000, 100)]);
    let (_, fine) = scripted.codes(0..u64::MAX, u64::MAX);
    scripted.overviews.of(1, &scripted.folder.rows(1).unwrap()).unwrap().unwrap();
    for (from, columns) in [(0, 100), (0, 10), (100_001, 64), (0, 5000), (70_001, 1)] {
        let (colours, coarse) = scripted.codes(from..u64::MAX, columns);
        let without = Overviews::new(1);
        let viewer = Viewer { overviews: &without, ..scripted.viewer() };
        let without = viewer.colours("locality", "RW", from..u64::MAX, columns).unwrap().unwrap();
        assert_eq!(colours, without);
        assert!(coarse[0].len() as u64 <= columns);
        assert!(colours.from <= from && from - colours.from < 256);
        for (fine, coarse) in fine.iter().zip(coarse) {
            let from = usize::try_from(colours.from).unwrap().min(fine.len());
            let per_column = usize::try_from(colours.ios_per_column).unwrap();
            let slowest = fine[from..].chunks(per_column).map(|ios| *ios.iter().max().unwrap());
            assert!(slowest.eq(coarse));
        }
    }
}

#[test]
fn colours_have_a_scale_without_facts() {
    let mut scripted = ScriptedResult::new(&[&[20, 40]]);
    scripted.facts = no_facts();
    let (colours, codes) = scripted.codes(0..2, 2);
    assert_eq!((colours.low_ns, colours.high_ns, codes), (1.0, 1.0, vec![vec![1, 1]]));
}

// The running mean is the same from an overview and from the records, and its last point is the
// mean of the run.
#[test]
fn running_means_cover_successful_ios_with_and_without_start_up() {
    let mut latencies = scattered(300_000, 1000);
    latencies[5] = FAILED;
    let mut scripted = ScriptedResult::new(&[&latencies, &latencies[..3000], &[FAILED, FAILED]]);
    scripted.facts.runs[0].ignored = 1000;
    scripted.facts.runs[1].ignored = 1000;
    let mean = |latencies: &[u64]| {
        let answered = latencies.iter().filter(|latency| **latency != FAILED);
        answered.clone().sum::<u64>().checked_div(answered.count() as u64)
    };
    let means = |run| {
        let outline = scripted.viewer().outline(run, 0..u64::MAX, 100).unwrap().unwrap();
        outline.running_means.unwrap()
    };
    for (run, last) in [(1, 299_999), (2, 2999)] {
        let means = means(run);
        assert!(means.index.len() > 60 && means.index.len() <= 128, "{}", means.index.len());
        assert_eq!(means.index.last(), Some(&last));
        assert!(means.index.is_sorted_by(|a, b| a < b));
        for (n, &index) in means.index.iter().enumerate() {
            let index = usize::try_from(index).unwrap();
            assert_eq!(means.all_ns[n], mean(&latencies[..=index]));
            let after = if index < 1000 { None } else { mean(&latencies[1000..=index]) };
            assert_eq!(means.after_start_up_ns[n], after);
        }
    }
    assert!(scripted.overviews.kept(1, &scripted.folder.rows(1).unwrap()).is_some());
    assert_eq!(means(3).all_ns, [None, None]);
    let window = scripted.viewer().outline(1, 1..200_000, 100).unwrap().unwrap();
    assert_eq!(window.running_means, None);
}

#[test]
fn matches_equal_a_filter_of_all_records() {
    let (first, second) = (scattered(900, 400), scattered(700, 300));
    let result = ScriptedResult::new(&[&first, &second]);
    let find = |text: &str, limits: MatchLimits| {
        let expression = flashscope_query::parse(text).unwrap();
        matches(&result.folder, &result.manifest, &expression, limits, |_, _| ()).unwrap()
    };
    let all = MatchLimits { read: u64::MAX, listed: 7 };
    let found = find("latency > 250 ns and position % 3 = 1", all);
    let expected = |run: u32, latencies: &[u64]| -> Vec<(Reverse<u64>, u32, u64)> {
        let placed = (0..).zip(latencies).filter(|(position, ns)| **ns > 250 && position % 3 == 1);
        placed.map(|(position, ns)| (Reverse(*ns), run, position)).collect()
    };
    let (of_first, of_second) = (expected(1, &first), expected(2, &second));
    let counts: Vec<_> = found.runs.iter().map(|run| (run.run, run.matched)).collect();
    assert_eq!(counts, [(1, of_first.len() as u64), (2, of_second.len() as u64)]);
    assert_eq!(found.runs[0].slowest_ns, of_first.iter().map(|(ns, ..)| ns.0).max().unwrap());
    let mut slowest = [of_first, of_second].concat();
    slowest.sort_unstable();
    let listed: Vec<_> = (found.slowest.columns[LATENCY].iter())
        .zip(found.slowest.run.iter().zip(&found.slowest.position))
        .map(|(ns, (run, position))| (Reverse(ns.cast_unsigned()), *run, *position))
        .collect();
    assert_eq!(listed, slowest[..7]);
    assert_eq!((found.ios, found.matched), (1600, slowest.len() as u64));

    // A run that the expression excludes is not read, and a limit leaves the remaining IOs unread.
    let excluding = find("run = 2 and latency > 0", all);
    assert_eq!((excluding.excluded, excluding.matched, excluding.unread), (900, 700, 0));
    let limited = find("latency >= 0", MatchLimits { read: 1000, listed: 0 });
    assert_eq!((limited.matched, limited.unread), (1000, 600));
    assert!(limited.slowest.run.is_empty());
    let none = find("experiment = SW", all);
    assert_eq!((none.excluded, none.matched, none.runs.len()), (1600, 0, 0));
}
