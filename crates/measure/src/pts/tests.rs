use flashscope_block::DeviceKind;
use flashscope_document::manifest::{OnError, State, runs_of};
use flashscope_document::methodology::Methodology;

use super::*;
use crate::order;

fn device(logical_block: Bytes, queue_depth: u32) -> DeviceInfo {
    DeviceInfo::new(("null:", DeviceKind::Null), (Bytes::mib(64), logical_block), queue_depth)
}

fn setup() -> Setup {
    Setup::paper(Bytes::mib(64), 1)
}

const AS_SPECIFIED: Choice = Choice { round: ROUND, queue_depth: None, max_rounds: None };

fn planned(test: &Test, device: &DeviceInfo) -> (Rounds, Vec<MicroBenchmark>) {
    test.plan(&setup(), AS_SPECIFIED, device).unwrap()
}

#[test]
fn each_test_is_found_by_name_and_runs_what_it_tracks() {
    for test in TESTS {
        assert_eq!(find(test.name).map(|found| found.name), Some(test.name));
        assert!(test.source.contains("SNIA") && test.question.ends_with('?'));
        let (rule, plan) = planned(test, &device(Bytes(512), 256));
        assert_eq!(rule.tracked.len(), test.tracked.len(), "{}", test.name);
        assert!(runs_of(&plan).all(|run| run.progress == Progress::Pending));
    }
    assert!(find("iops").is_none());
}

#[test]
fn rounds_are_as_specified() {
    let device = device(Bytes(512), 256);
    let of = |name: &str| {
        let (rule, plan) = planned(find(name).unwrap(), &device);
        let rounds = plan.last().unwrap();
        let runs = rounds.experiments[0].runs.len();
        let Reference::Blend { queue_depth, time, .. } = rounds.experiments[0].runs[0].reference
        else {
            panic!("a blend")
        };
        assert_eq!(time, Some(Nanos::secs(60)));
        let written: u64 = match &plan[..] {
            [first, _] => first.experiments[0].runs[0].reference.io_count() * (128 << 10),
            _ => 0,
        };
        (rounds.experiments.len(), runs, queue_depth, written >> 20, rule.until_steady)
    };
    assert_eq!(of("pts-iops"), (56, 25, 128, 128, true));
    assert_eq!(of("pts-throughput"), (2, 25, 128, 128, true));
    assert_eq!(of("pts-throughput-128k"), (2, 25, 128, 128, true));
    assert_eq!(of("pts-latency"), (9, 25, 1, 128, true));
    assert_eq!(of("pts-write-saturation"), (1, 1440, 128, 0, false));
    let (rule, _) = planned(find("pts-write-saturation").unwrap(), &device);
    assert_eq!(rule.most_bytes, Some(Bytes::mib(256)));
    let (rule, plan) = planned(find("pts-iops").unwrap(), &device);
    assert_eq!(rule.tracked, ["0/100 4 KiB", "65/35 64 KiB", "100/0 1 MiB"]);
    assert_eq!((rule.window, rule.range, rule.slope), (5, 0.2, 0.1));
    let names = |i: usize| plan[1].experiments[i].name.as_str();
    assert_eq!(
        [names(0), names(7), names(8), names(55)],
        ["100/0 1 MiB", "100/0 512 B", "95/5 1 MiB", "0/100 512 B"]
    );
}

#[test]
fn rounds_run_in_order_with_different_addresses() {
    for name in ["pts-iops", "pts-throughput"] {
        let (_, plan) = planned(find(name).unwrap(), &device(Bytes(512), 256));
        let order = order(&plan);
        assert_eq!(order, (1..=u32::try_from(order.len()).unwrap()).collect::<Vec<_>>());
        let run_of = |id: u32| runs_of(&plan).find(|run| run.id == id).unwrap();
        let rounds: Vec<i64> = order[1..].iter().map(|&id| run_of(id).value).collect();
        assert!(rounds.is_sorted() && rounds[0] == 1);
        let mut seeds: Vec<u64> =
            runs_of(&plan).map(|run| run.reference.patterns()[0].seed).collect();
        let count = seeds.len();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), count);
    }
}

// A requested queue depth above the drive's is an error; the recommended depth is lowered instead.
#[test]
fn impossible_runs_are_skipped_and_too_deep_queues_are_refused() {
    let iops = find("pts-iops").unwrap();
    let (rule, plan) = planned(iops, &device(Bytes::kib(8), 32));
    let skipped: Vec<&str> = plan[1]
        .experiments
        .iter()
        .filter(|e| e.runs.iter().all(|run| matches!(run.progress, Progress::Skipped { .. })))
        .map(|e| e.name.as_str())
        .collect();
    assert_eq!(skipped.len(), 14, "{skipped:?}");
    assert_eq!(rule.tracked, ["65/35 64 KiB", "100/0 1 MiB"]);
    let depth_of =
        |plan: &[MicroBenchmark]| runs_of(plan).map(|run| run.reference.in_flight()).max();
    assert_eq!(depth_of(&plan), Some(32));
    let choose = |test: &Test, depth| {
        let choice = Choice { queue_depth: Some(depth), ..AS_SPECIFIED };
        test.plan(&setup(), choice, &device(Bytes(512), 32)).map(|(_, plan)| depth_of(&plan))
    };
    assert_eq!(choose(iops, 8).unwrap(), Some(8));
    let refused = |test, depth| choose(test, depth).unwrap_err().to_string();
    assert_eq!(refused(iops, 33), "QueueDepth = 33: at most 32 IOs can be in flight");
    let latency = find("pts-latency").unwrap();
    assert_eq!(refused(latency, 2), "QueueDepth = 2: at most one IO can be in flight");
}

// A steady-state test takes between five and all rounds of a minute each; a saturation test at most
// until its bytes are written.
#[test]
fn estimates_cover_the_fewest_and_the_most_rounds() {
    let device = device(Bytes(512), 128);
    let cost = flashscope_document::plan::Cost { per_io_ns: 1e6, per_byte_ns: 0.0, measured: true };
    let costs = Costs { read: cost, sequential_write: cost, random_write: cost };
    let of = |name: &str| {
        let (rounds, plan) = planned(find(name).unwrap(), &device);
        let options = Options {
            setup: setup(),
            state: State::Purged,
            spare: None,
            run_pause_ns: Nanos(0),
            on_error: OnError::Continue,
            methodology: Methodology::default(),
            rounds: Some(rounds),
            grid: None,
        };
        let found = estimate_rounds(&plan, &options, &costs);
        let minutes = |amount: flashscope_document::plan::Amount| amount.time_ns.0 / 60_000_000_000;
        (minutes(found.min), minutes(found.expected), minutes(found.max), found)
    };
    let (least, expected, most, _) = of("pts-latency");
    assert_eq!((least, expected, most), (45, 225, 225));
    // 128 in flight of 1 ms each are 128,000 IOs a second: 64 MiB four times takes less than a
    // minute.
    let (least, expected, most, found) = of("pts-write-saturation");
    assert_eq!((least, expected, most), (1, 1, 1440));
    assert_eq!(found.expected.ios, 7_680_000);
}
