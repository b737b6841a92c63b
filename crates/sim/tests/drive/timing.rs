use flashscope_block::{Bytes, Data, Device, Errno, Io, Nanos, Op};
use flashscope_sim::setup::Scope;
use flashscope_sim::{Profile, SimDevice};

use crate::{drain, drive, one_pool, request, round_trip};

const PAGE: u64 = 4096;
const READ: u64 = 130_600;
const WRITE: u64 = 305_600;

/// Returns a drive whose first `pages` pages are written and whose flash is idle.
fn written(profile: &Profile, pages: u64) -> SimDevice {
    let mut drive = drive(profile);
    round_trip(&mut drive, Op::Write, 0, pages * PAGE);
    drive
}

// The read and the write of a page take the times that Agrawal et al., section 2, add up.
#[test]
fn one_page_takes_the_times_of_table_1() {
    let mut drive = drive(&one_pool(64));
    assert_eq!(round_trip(&mut drive, Op::Write, 0, PAGE).latency(), Nanos(WRITE));
    assert_eq!(round_trip(&mut drive, Op::Read, 0, PAGE).latency(), Nanos(READ));
}

// 8 packages read 8 pages in the time of one page, which gives the 61,255 reads/s of Table 3. A
// single package reads them one by one.
#[test]
fn packages_work_in_parallel() {
    for (profile, rounds) in [(Profile::default(), 1), (one_pool(64), 8)] {
        let mut drive = written(&profile, 16);
        let start = drive.now();
        for page in 0..8 {
            drive.submit(&request(Op::Read, page * PAGE, PAGE, start));
        }
        let last = drain(&mut drive).last().expect("eight completions").completed;
        assert_eq!(last - start, Nanos(rounds * READ));
        assert_eq!(round_trip(&mut drive, Op::Read, 0, 8 * PAGE).latency(), Nanos(rounds * READ));
        assert_eq!(
            round_trip(&mut drive, Op::Write, 0, 16 * PAGE).latency(),
            Nanos(2 * rounds * WRITE)
        );
    }
}

// A request that arrives at the time t at which its package becomes free does not wait. A request
// that arrives at t - 1 waits for one nanosecond.
#[test]
fn a_busy_package_makes_wait_to_the_nanosecond() {
    for early in [0, 1] {
        let mut drive = written(&one_pool(64), 2);
        let start = drive.now();
        drive.submit(&request(Op::Read, 0, PAGE, start));
        let arrival = Nanos(start.0 + READ - early);
        assert_eq!(drive.complete(Nanos(arrival.0 - 1)), None);
        drive.submit(&request(Op::Read, PAGE, PAGE, arrival));
        let latencies: Vec<_> = drain(&mut drive).iter().map(|done| done.latency().0).collect();
        assert_eq!(latencies, [READ, READ + early]);
    }
}

// `complete` returns a completion that is due at its limit. If the completion is due a nanosecond
// later, `complete` stops at its limit.
#[test]
fn complete_stops_at_its_limit() {
    let mut drive = drive(&one_pool(64));
    drive.submit(&request(Op::Write, 0, PAGE, Nanos(0)));
    assert_eq!(drive.complete(Nanos(WRITE - 1)), None);
    assert_eq!(drive.now(), Nanos(WRITE - 1));
    assert_eq!(drive.complete(Nanos(WRITE)).map(|done| done.completed), Some(Nanos(WRITE)));
    assert_eq!(drive.now(), Nanos(WRITE));
}

// A write of part of a page reads the page first, but only if the page holds data.
#[test]
fn partial_writes_read_modify_write() {
    let mut drive = drive(&one_pool(64));
    assert_eq!(round_trip(&mut drive, Op::Write, 512, 1024).latency(), Nanos(WRITE));
    assert_eq!(drive.counters().flash.reads.host, 0);
    assert_eq!(round_trip(&mut drive, Op::Write, 0, 512).latency(), Nanos(READ + WRITE));
    assert_eq!(drive.counters().flash.reads.host, 1);
    // Writes half of a page with data, and half of the next page, which has no data.
    let both = round_trip(&mut drive, Op::Write, PAGE / 2, PAGE).latency();
    assert_eq!(both, Nanos(READ + 2 * WRITE));
    assert_eq!(drive.counters().host_pages_written, 4);
}

// A read of a page without data (never written, or completely trimmed) does not use the flash.
#[test]
fn empty_pages_cost_no_flash() {
    let mut drive = written(&one_pool(64), 2);
    round_trip(&mut drive, Op::Trim, 0, PAGE + 512);
    assert_eq!(round_trip(&mut drive, Op::Read, 0, PAGE).latency(), Nanos(0));
    assert_eq!(round_trip(&mut drive, Op::Read, 9 * PAGE, PAGE).latency(), Nanos(0));
    assert_eq!(round_trip(&mut drive, Op::Read, PAGE, PAGE).latency(), Nanos(READ));
    assert_eq!(drive.counters().host_pages_trimmed, 1);
}

fn with_interface(overhead: u64, per_kib: u64) -> Profile {
    let mut profile = one_pool(64);
    profile.interface.request_overhead = Nanos(overhead);
    profile.interface.transfer_per_kib = Nanos(per_kib);
    profile
}

// The host interface takes its overhead per request and its transfer time per byte. It serves one
// request at a time, and passes the data of a write to the flash page by page.
#[test]
fn the_interface_is_serial() {
    let mut drive = drive(&with_interface(7, 1000));
    let one = round_trip(&mut drive, Op::Write, 0, PAGE);
    assert_eq!(one.latency(), Nanos(7 + 4000 + WRITE));
    let start = drive.now();
    for _ in 0..3 {
        drive.submit(&request(Op::Read, 9 * PAGE, 2 * PAGE, start));
    }
    let latencies: Vec<_> = drain(&mut drive).iter().map(|done| done.latency().0).collect();
    assert_eq!(latencies, [8007, 16_007, 24_007]);
    let two = round_trip(&mut drive, Op::Write, 0, 2 * PAGE);
    assert_eq!(two.latency(), Nanos(7 + 4000 + 2 * WRITE));
    let read = round_trip(&mut drive, Op::Read, 0, 2 * PAGE);
    assert_eq!(read.latency(), Nanos(7 + 2 * READ + 4000));
}

// Completions are in the order of time, and completions of one instant in the order of submission.
// A flush completes after all earlier requests, and does not delay later requests.
#[test]
fn completions_are_in_order() {
    let mut drive = written(&with_interface(0, 1000), 4);
    let start = drive.now();
    let ops = [
        (Op::Write, 0, PAGE),
        (Op::Read, 8 * PAGE, PAGE),
        (Op::Read, PAGE, PAGE),
        (Op::Flush, 0, 0),
        (Op::Trim, 2 * PAGE, PAGE),
        (Op::Read, 9 * PAGE, PAGE),
        (Op::Flush, 0, 0),
        (Op::Read, 3 * PAGE, PAGE),
    ];
    for (stream, (op, offset, len)) in (0u16..).zip(ops) {
        drive.submit(&flashscope_block::Io { stream, ..request(op, offset, len, start) });
    }
    let done = drain(&mut drive);
    let order: Vec<_> = done.iter().map(|c| (c.io.stream, (c.completed - start).0)).collect();
    let write = 4000 + WRITE;
    let read = write + READ + 4000;
    assert_eq!(
        order,
        [
            (4, 4000),
            (1, 8000),
            (5, 12_000),
            (0, write),
            (2, read),
            (3, read),
            (6, read),
            (7, read + READ),
        ]
    );
}

// Impossible IOs fail with the error number of a real drive, and have no other effect.
#[test]
fn impossible_ios_are_answered_with_an_error() {
    let mut drive = drive(&one_pool(64));
    let capacity = drive.info().capacity.0;
    let cases = [
        (capacity, 512),
        (capacity - 512, 1024),
        (u64::MAX - 511, 512),
        (512, u64::MAX - 511),
        (0, 0),
        (256, 512),
        (512, 256),
    ];
    for op in [Op::Read, Op::Write, Op::Trim] {
        for (offset, len) in cases {
            drive.submit(&request(op, offset, len, Nanos(0)));
            let done = drive.complete(Nanos::MAX).expect("it is answered");
            assert_eq!(done.result, Err(Errno::EINVAL), "{op:?} {offset} {len}");
        }
    }
    assert_eq!(drive.counters(), crate::raid::no_counts(&drive));
    let depth = u64::from(drive.info().queue_depth);
    for _ in 0..=depth {
        drive.submit(&request(Op::Read, 0, 512, Nanos(0)));
    }
    let results: Vec<_> = drain(&mut drive).iter().map(|done| done.result).collect();
    assert_eq!(results.iter().filter(|result| **result == Err(Errno::EAGAIN)).count(), 1);
    assert_eq!(results.last(), Some(&Err(Errno::EAGAIN)));
}

// An IO that is due in the future is held until then.
#[test]
fn ios_are_never_early() {
    let mut drive = drive(&one_pool(64));
    drive.submit(&request(Op::Write, 0, PAGE, Nanos(1_000_000)));
    let done = drive.complete(Nanos::MAX).expect("in flight");
    assert_eq!((done.submitted, done.latency()), (Nanos(1_000_000), Nanos(WRITE)));
    assert_eq!(done.io.len, Bytes(PAGE));
}

// A request takes the switch time if, and only if, the previous request ended in another group.
#[test]
fn groups_are_switched() {
    let mut profile = one_pool(64);
    profile.groups.count = 4;
    profile.groups.switch_time = Nanos::micros(250);
    let mut drive = drive(&profile);
    let group = drive.info().capacity.0 / 4;
    let mut read = |offset| round_trip(&mut drive, Op::Read, offset, 4096).latency();
    // The reads concern unwritten pages, which take no time.
    let (stays, switches) = (Nanos(0), Nanos::micros(250));
    let page = 4096;
    assert_eq!(
        [read(0), read(group - page), read(group), read(group + page)],
        [stays, stays, switches, stays]
    );
    // This read crosses from the third group into the fourth, which then stays selected.
    let across = round_trip(&mut drive, Op::Read, 3 * group - page, 2 * page).latency();
    let after = round_trip(&mut drive, Op::Read, 3 * group, page).latency();
    assert_eq!([across, after], [switches, stays]);
}

// A request above the size limit of the drive is split into parts. Each part starts when the
// previous part is complete.
#[test]
fn long_requests_come_in_parts() {
    let mut profile = one_pool(64);
    profile.interface.request_overhead = Nanos::micros(100);
    profile.interface.transfer_per_kib = Nanos::micros(20);
    let whole = profile.clone();
    profile.interface.largest_request = Bytes::kib(12);
    let (mut cut, mut whole) = (drive(&profile), drive(&whole));
    for op in [Op::Write, Op::Read] {
        // 32 KiB in parts of 12, 12 and 8 KiB.
        let took = round_trip(&mut cut, op, 0, 32 << 10).latency();
        let parts = [(0, 12), (12, 12), (24, 8)];
        let parts =
            parts.map(|(at, len)| round_trip(&mut whole, op, at << 10, len << 10).latency());
        assert_eq!(took, parts[0] + parts[1] + parts[2], "{op}");
        assert!(took > round_trip(&mut whole, op, 0, 32 << 10).latency(), "{op}");
    }
}

// Each flash page of zeros takes less time to program, also beside a page of random data, and also
// from a write buffer.
#[test]
fn zeros_take_less() {
    let mut profile = one_pool(64);
    profile.flash.page_size = Bytes::kib(2);
    profile.flash.zero_page_program = Nanos::micros(30);
    let write = |drive: &mut SimDevice, data| {
        let io = Io { data, ..request(Op::Write, 0, 4096, drive.now()) };
        drive.submit(&io);
        drive.complete(Nanos::MAX).expect("it is answered").latency()
    };
    let mut unbuffered = drive(&profile);
    let [random, half, zeros] =
        [Data::Random, Data::HalfZeros, Data::Zeros].map(|data| write(&mut unbuffered, data));
    assert_eq!([random - half, half - zeros], [Nanos::micros(170); 2]);
    // A flush takes longer if the buffer holds data that is not zeros.
    profile.cache.kind = "lru".into();
    profile.cache.size = Bytes::kib(64);
    let flushed = [Data::Random, Data::Zeros].map(|data| {
        let mut drive = drive(&profile);
        write(&mut drive, data);
        drive.submit(&request(Op::Flush, 0, 0, drive.now()));
        drive.complete(Nanos::MAX).expect("it is answered").latency()
    });
    assert_eq!(flushed[0] - flushed[1], Nanos::micros(340));
}

// Each program of zeros, by the host or by garbage collection, saves the same time.
#[test]
fn zeros_are_moved_in_less() {
    let time_and_moves = |data| {
        let mut profile = one_pool(64);
        profile.flash.zero_page_program = Nanos::micros(30);
        let mut drive = drive(&profile);
        let mut random = fastrand::Rng::with_seed(3);
        let pages = drive.info().capacity.0 / PAGE;
        for _ in 0..4 * pages {
            let io = request(Op::Write, random.u64(..pages) * PAGE, PAGE, drive.now());
            drive.submit(&Io { data, ..io });
            drive.complete(Nanos::MAX).expect("it is answered");
        }
        (drive.now(), drive.counters().flash.programs.total())
    };
    let [(random, programs), (zeros, same)] = [Data::Random, Data::Zeros].map(time_and_moves);
    assert_eq!(programs, same);
    assert!(programs > 5 * 64 * 54, "nothing was moved");
    assert_eq!((random - zeros).0, programs * 170_000);
}

// Writes of all lanes go through the blocks used as SLC, although each lane has room elsewhere.
#[test]
fn slc_takes_writes_of_every_lane() {
    let mut profile = one_pool(64);
    profile.over_provisioning = 0.4;
    profile.slc.share = 0.1;
    profile.slc.page_program = Nanos::micros(50);
    for (packages, lanes) in [(1, Scope::Pool), (2, Scope::Package), (4, Scope::Package)] {
        profile.flash.packages = packages;
        profile.packages_per_pool = packages;
        profile.active_blocks = lanes;
        let mut drive = drive(&profile);
        for page in 0..64 {
            let write = round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
            assert!(write.latency() < Nanos(WRITE - 100_000), "{packages} packages, page {page}");
        }
    }
}
