use flashscope_block::{Bytes, Completion, Device, Errno, Io, Nanos, Op, contract};
use flashscope_sim::raid::Raid0;
use flashscope_sim::{Counters, Drive, SimDevice, open};

use crate::{drive, one_pool, request};

const PAGE: u64 = 4096;
const READ: u64 = 130_600;
const WRITE: u64 = 305_600;
/// Pages in a stripe unit.
const UNIT: u64 = 2;

fn array(members: u64) -> Raid0<SimDevice> {
    let drives = (0..members).map(|_| drive(&one_pool(64))).collect();
    Raid0::new(drives, Bytes(UNIT * PAGE))
}

/// Submits IOs now, and returns their completions in order: stream, result, and time since
/// submission.
fn all(array: &mut Raid0<SimDevice>, ios: &[Io]) -> Vec<(u16, Result<(), Errno>, u64)> {
    let start = array.now();
    for (io, stream) in ios.iter().zip(0..) {
        array.submit(&Io { stream, at: start, ..*io });
    }
    std::iter::from_fn(|| array.complete(Nanos::MAX))
        .map(|done| (done.io.stream, done.result, (done.completed - start).0))
        .collect()
}

fn page(op: Op, page: u64, pages: u64) -> Io {
    request(op, page * PAGE, pages * PAGE, Nanos(0))
}

#[test]
fn an_array_keeps_the_device_contract() {
    for members in [1, 2, 5] {
        contract::check(&mut array(members), true);
    }
    for spec in [
        "demo?raid.drives=3",
        "demo?raid.drives=2&cache.kind=bplru&cache.read_ahead=4",
        "demo?raid.drives=3&scheduling.policy=fcfs",
        "demo?raid.drives=2&scheduling.policy=suspend&cache.kind=bplru&cache.read_ahead=4",
    ] {
        contract::check(&mut open(spec).expect("it works"), true);
    }
}

// The mean time of requests is the same with and without queued commands, to 0.1 %, if the buses of
// the drives have one die each.
#[test]
#[allow(clippy::cast_precision_loss)]
fn an_array_of_drives_with_queues_is_as_fast() {
    let [short, queued] = [false, true].map(|has_queues| {
        let mut profile = one_pool(64);
        profile.background_cleaning = false;
        if has_queues {
            crate::queues::without_early_answers(&mut profile);
        }
        let drives = (0..3).map(|_| drive(&profile)).collect();
        let mut array = Raid0::new(drives, Bytes(UNIT * PAGE));
        let mut random = fastrand::Rng::with_seed(8);
        let pages = array.info().capacity.0 / PAGE;
        let mut done = Vec::new();
        for stream in 0..6000 {
            let op = if random.u32(..3) == 0 { Op::Read } else { Op::Write };
            let io = page(op, random.u64(..pages - 8), random.u64(1..8));
            array.submit(&Io { stream, at: array.now(), ..io });
            if stream > 4 {
                done.extend(array.complete(Nanos::MAX));
            }
        }
        done.extend(std::iter::from_fn(|| array.complete(Nanos::MAX)));
        (done, array.members().iter().map(|drive| drive.counters()).collect::<Vec<_>>())
    });
    assert_eq!(short.1, queued.1);
    assert!(short.1.iter().all(|counters| counters.flash.erases.total() > 20));
    let mean = |done: &[Completion]| {
        assert!(done.len() == 6000 && done.iter().all(|completion| completion.result.is_ok()));
        done.iter().map(|completion| completion.latency().0 as f64).sum::<f64>()
    };
    let ratio = mean(&queued.0) / mean(&short.0);
    assert!((ratio - 1.0).abs() < 0.001, "{ratio}");
}

#[test]
fn capacity_is_the_sum_of_whole_stripe_units() {
    let one = drive(&one_pool(64)).info().clone();
    let unit = 5 * PAGE;
    let units = one.capacity.0 / unit;
    assert!(one.capacity.0 > units * unit, "nothing is rounded");
    let array = Raid0::new((0..3).map(|_| drive(&one_pool(64))).collect(), Bytes(unit));
    assert_eq!(array.info().capacity, Bytes(3 * units * unit));
    assert_eq!(array.info().queue_depth, 3 * one.queue_depth);
    let spec = "agrawal-2008?raid.drives=6&flash.blocks_per_plane=64";
    let drive = open(spec).expect("it works");
    assert_eq!(drive.info().name, format!("sim:{spec}"));
    assert_eq!(drive.members().len(), 6);
    assert!(matches!(open("demo"), Ok(Drive::One(_))));
}

#[test]
fn drives_work_in_parallel() {
    for members in 1..=6 {
        let mut array = array(members);
        let row = UNIT * members;
        assert_eq!(all(&mut array, &[page(Op::Write, 0, row)])[0].2, UNIT * WRITE);
        let apart: Vec<_> = (0..members).map(|drive| page(Op::Read, drive * UNIT, 1)).collect();
        assert!(all(&mut array, &apart).iter().all(|answer| answer.2 == READ));
        let row = page(Op::Read, 0, row);
        assert_eq!(all(&mut array, &[row])[0].2, UNIT * READ);
        let together: Vec<_> = (0..members).map(|_| page(Op::Read, 0, 1)).collect();
        let last = *all(&mut array, &together).last().expect("answers");
        assert_eq!(last.2, members * READ);
        let counters = array.members().iter().map(SimDevice::counters);
        assert!(counters.map(|counters| counters.host_pages_written).all(|pages| pages == UNIT));
    }
}

#[test]
fn answers_are_ordered_by_time_then_submission() {
    let mut array = array(3);
    all(&mut array, &[page(Op::Write, 0, 12)]);
    let ios = [
        page(Op::Write, 4, 1),
        page(Op::Read, 2, 1),
        page(Op::Read, 0, 1),
        request(Op::Flush, 0, 0, Nanos(0)),
        page(Op::Read, 1, 1),
        page(Op::Trim, 2, 2),
    ];
    let order: Vec<_> = all(&mut array, &ios).iter().map(|answer| (answer.0, answer.2)).collect();
    let expected = [(5, 0), (1, READ), (2, READ), (4, 2 * READ), (0, WRITE), (3, WRITE)];
    assert_eq!(order, expected);
}

#[test]
fn an_idle_drive_starts_at_the_time_of_the_array() {
    let mut array = array(2);
    array.submit(&page(Op::Write, 0, 1));
    assert_eq!(array.complete(Nanos(WRITE - 1)), None);
    assert_eq!(array.now(), Nanos(WRITE - 1));
    array.submit(&Io { at: array.now(), ..page(Op::Write, 2, 1) });
    assert_eq!(array.complete(Nanos(WRITE)).map(|done| done.completed), Some(Nanos(WRITE)));
    let second = array.complete(Nanos::MAX).expect("in flight");
    assert_eq!((second.submitted, second.latency()), (Nanos(WRITE - 1), Nanos(WRITE)));
    array.idle_until(Nanos::secs(1));
    assert!(array.members().iter().all(|drive| drive.now() == Nanos::secs(1)));
}

#[test]
fn requests_beyond_the_queue_depth_of_a_drive_wait() {
    let mut array = array(2);
    let depth = array.info().queue_depth;
    all(&mut array, &[page(Op::Write, 0, 1)]);
    let reads: Vec<_> = (0..=depth).map(|_| page(Op::Read, 0, 1)).collect();
    let mut answers = all(&mut array, &reads);
    assert_eq!(answers.remove(0), (u16::try_from(depth).expect("small"), Err(Errno::EAGAIN), 0));
    for (answer, nth) in answers.iter().zip(1..) {
        assert_eq!((answer.1, answer.2), (Ok(()), nth * READ));
    }
    assert_eq!(answers.len(), depth as usize);
}

/// Returns the counters of a drive that has done nothing.
pub(crate) fn no_counts(drive: &SimDevice) -> Counters {
    let Counters { logical_page, flash_page, .. } = drive.counters();
    Counters { logical_page, flash_page, ..Counters::default() }
}

#[test]
fn invalid_ios_fail_without_reaching_a_drive() {
    let mut array = array(2);
    let end = array.info().capacity.0;
    for (offset, len) in [(end, 512), (end - 512, 1024), (u64::MAX - 511, 512), (0, 0), (256, 512)]
    {
        for op in [Op::Read, Op::Write, Op::Trim] {
            let answers = all(&mut array, &[request(op, offset, len, Nanos(0))]);
            assert_eq!(answers, [(0, Err(Errno::EINVAL), 0)], "{op:?} {offset} {len}");
        }
    }
    assert!(array.members().iter().all(|drive| drive.counters() == no_counts(drive)));
}

#[test]
fn counters_are_the_sums_over_the_drives() {
    let mut array = open("demo?raid.drives=3&raid.stripe_unit=8KiB").expect("it works");
    let pages = [(Op::Write, 0, 12), (Op::Read, 1, 5), (Op::Trim, 2, 3)];
    for (op, first, pages) in pages {
        array.submit(&Io { at: array.now(), ..page(op, first, pages) });
        assert_eq!(array.complete(Nanos::MAX).map(|done| done.result), Some(Ok(())));
    }
    let counters = array.counters();
    let host = (counters.host_pages_written, counters.host_pages_read, counters.host_pages_trimmed);
    assert_eq!(host, (12, 5, 3));
    assert_eq!((counters.flash.programs.host, counters.flash.reads.host), (12, 5));
}
