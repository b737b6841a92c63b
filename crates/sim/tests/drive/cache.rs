use std::collections::BTreeSet;

use flashscope_block::{Device, Io, Nanos, Op};
use flashscope_sim::cache::KINDS;
use flashscope_sim::nand::Lpn;
use flashscope_sim::{Profile, SimDevice};
use proptest::prelude::*;

use crate::robustness::{LOGICAL_BLOCK, place, profiles};
use crate::{drain, drive, one_pool, request, round_trip};

const PAGE: u64 = 4096;
const READ: u64 = 130_600;
const WRITE: u64 = 305_600;

/// Returns the profile of a drive of one package, with 4 pages in a block and a buffer of `pages`
/// pages.
fn buffered(kind: &str, pages: u64) -> Profile {
    let mut profile = one_pool(64);
    profile.flash.pages_per_block = 4;
    profile.cache.kind = kind.into();
    profile.cache.size.0 = pages * PAGE;
    profile
}

fn write(drive: &mut SimDevice, page: u64) -> Nanos {
    round_trip(drive, Op::Write, page * PAGE, PAGE).latency()
}

fn read(drive: &mut SimDevice, page: u64) -> Nanos {
    round_trip(drive, Op::Read, page * PAGE, PAGE).latency()
}

fn flush(drive: &mut SimDevice) -> Nanos {
    round_trip(drive, Op::Flush, 0, 0).latency()
}

/// Returns the pages in the buffer.
fn held(drive: &SimDevice) -> Vec<u32> {
    let pages = u32::try_from(drive.info().capacity.0 / PAGE).expect("a small drive");
    (0..pages).filter(|lpn| drive.cache().holds(Lpn(*lpn))).collect()
}

fn programs(drive: &SimDevice) -> u64 {
    drive.counters().flash.programs.host
}

// A write is acknowledged when its data has arrived. If the buffer is full, it is acknowledged when
// the program that frees a slot ends.
#[test]
fn a_write_waits_for_room_alone() {
    let mut profile = buffered("lru", 2);
    profile.interface.request_overhead = Nanos(7);
    profile.interface.transfer_per_kib = Nanos(1000);
    let mut drive = drive(&profile);
    let latencies: Vec<_> = [0, 1, 0, 2, 2, 3].map(|page| write(&mut drive, page).0).into();
    let arrival = 7 + 4000;
    assert_eq!(latencies, [arrival, arrival, arrival, arrival + WRITE, arrival, arrival + WRITE]);
    assert_eq!((programs(&drive), held(&drive)), (2, vec![2, 3]));
}

// A slot is free at the time t at which the program of its page is done, and not at t - 1.
#[test]
fn a_slot_is_free_when_its_program_is_done() {
    for early in [0, 1] {
        let mut drive = drive(&buffered("bplru", 4));
        for page in [1, 0, 3, 2] {
            assert_eq!(write(&mut drive, page), Nanos(0));
        }
        // All pages of the block are evicted at time 0, and programmed one after the other.
        assert_eq!(write(&mut drive, 8), Nanos(WRITE));
        drive.idle_until(Nanos(2 * WRITE - early));
        assert_eq!(write(&mut drive, 9), Nanos(early));
        assert_eq!((programs(&drive), held(&drive)), (4, vec![8, 9]));
    }
}

// Several writes that find the buffer full wait for one program each, even if their pages are
// evicted before they have a slot.
#[test]
fn waiting_writes_queue_for_slots() {
    let mut drive = drive(&buffered("lru", 1));
    for page in 0..4 {
        drive.submit(&request(Op::Write, page * PAGE, PAGE, Nanos(0)));
    }
    let latencies: Vec<_> = drain(&mut drive).iter().map(|done| done.latency().0).collect();
    assert_eq!(latencies, [0, WRITE, 2 * WRITE, 3 * WRITE]);
    assert_eq!(flush(&mut drive), Nanos(WRITE));
    assert_eq!(programs(&drive), 4);
}

// A flush ends at the nanosecond at which all pages are on flash, including pages evicted earlier.
// A flush of a clean buffer takes no time.
#[test]
fn a_flush_waits_for_the_flash() {
    for early in [0, 1] {
        let mut drive = drive(&buffered("bplru", 4));
        for page in [1, 0, 3, 2, 8] {
            write(&mut drive, page);
        }
        drive.idle_until(Nanos(4 * WRITE - early));
        assert_eq!(flush(&mut drive), Nanos(early + WRITE));
        assert_eq!(flush(&mut drive), Nanos(0));
        assert_eq!((programs(&drive), held(&drive)), (5, vec![]));
        assert_eq!(drive.cache().dirty(drive.now()), []);
    }
}

#[test]
fn reads_are_served_from_the_buffer_as_far_as_it_holds_them() {
    let mut drive = drive(&buffered("lru", 4));
    write(&mut drive, 0);
    flush(&mut drive);
    round_trip(&mut drive, Op::Write, 512, 1024);
    write(&mut drive, 1);
    assert_eq!(read(&mut drive, 1), Nanos(0));
    assert_eq!(round_trip(&mut drive, Op::Read, 1024, 512).latency(), Nanos(0));
    assert_eq!(round_trip(&mut drive, Op::Read, 1024, 1024).latency(), Nanos(READ));
    // Two writes fill the remaining bytes of the page.
    round_trip(&mut drive, Op::Write, 2048, 2048);
    round_trip(&mut drive, Op::Write, 1536, 512);
    assert_eq!(round_trip(&mut drive, Op::Read, 512, 3584).latency(), Nanos(0));
    assert_eq!(read(&mut drive, 0), Nanos(READ));
    let counters = drive.counters();
    assert_eq!((counters.read_hits, counters.write_hits), (3, 2));
}

#[test]
fn write_amplification_is_below_one_where_the_buffer_absorbs_pages() {
    let mut drive = drive(&buffered("lru", 4));
    for _ in 0..8 {
        write(&mut drive, 0);
        write(&mut drive, 1);
    }
    flush(&mut drive);
    let counters = drive.counters();
    assert_eq!((counters.host_pages_written, counters.write_hits), (16, 14));
    assert_eq!(counters.write_amplification(), Some(2.0 / 16.0));
}

#[test]
fn a_logical_page_of_a_quarter_of_a_flash_page_amplifies_fourfold() {
    let mut profile = one_pool(64);
    profile.logical_page_size.0 = 1024;
    let mut drive = drive(&profile);
    for page in 0..8 {
        round_trip(&mut drive, Op::Write, page * PAGE, 1024);
    }
    assert_eq!(drive.counters().write_amplification(), Some(4.0));
    for page in 8..16 {
        write(&mut drive, page);
    }
    assert_eq!(drive.counters().write_amplification(), Some(16.0 / 10.0));
}

// A page that was written in parts is programmed once. The flash is read first only if it holds a
// missing part.
#[test]
fn parts_of_a_page_are_written_out_as_one() {
    let parts: &[(&[(u64, u64)], u64)] = &[
        (&[(0, 512)], 1),
        (&[(0, 2048), (2048, 2048)], 0),
        (&[(0, 512), (3584, 512)], 1),
        (&[(0, 512), (3584, 512), (512, 3072)], 0),
    ];
    for (parts, reads) in parts {
        let mut drive = drive(&buffered("lru", 4));
        write(&mut drive, 0);
        flush(&mut drive);
        for (start, len) in *parts {
            assert_eq!(round_trip(&mut drive, Op::Write, *start, *len).latency(), Nanos(0));
        }
        assert_eq!(flush(&mut drive), Nanos(reads * READ + WRITE), "{parts:?}");
        assert_eq!((programs(&drive), drive.counters().flash.reads.host), (2, *reads));
    }
}

#[test]
fn trimmed_pages_leave_the_buffer_unprogrammed() {
    for kind in ["lru", "bplru"] {
        let mut drive = drive(&buffered(kind, 2));
        write(&mut drive, 0);
        write(&mut drive, 1);
        round_trip(&mut drive, Op::Trim, 0, PAGE);
        assert_eq!(write(&mut drive, 2), Nanos(0));
        assert_eq!(read(&mut drive, 0), Nanos(0));
        assert_eq!((programs(&drive), held(&drive)), (0, vec![1, 2]));
        flush(&mut drive);
        assert_eq!((programs(&drive), drive.locate(Lpn(0))), (2, None));
    }
}

// A flush of a protected buffer takes no time. The buffer lists each page that is not on flash,
// until its program ends.
#[test]
fn a_protected_buffer_knows_what_it_must_save() {
    let mut profile = buffered("lru", 2);
    profile.cache.protected = true;
    let mut drive = drive(&profile);
    drive.expect_power_cuts();
    let start = drive.now();
    for page in 0..3 {
        drive.submit(&request(Op::Write, page * PAGE, PAGE, start));
    }
    let dirty = |drive: &SimDevice, at| {
        drive.cache().dirty(Nanos(at)).iter().map(|slice| slice.lpn.0).collect::<Vec<_>>()
    };
    assert_eq!(dirty(&drive, WRITE - 1), [0, 2, 1]);
    assert_eq!(dirty(&drive, WRITE), [2, 1]);
    drain(&mut drive);
    assert_eq!(flush(&mut drive), Nanos(0));
    assert_eq!((programs(&drive), held(&drive)), (1, vec![1, 2]));
    assert!(drive.cache().protected());
}

// Background eviction keeps a share of the buffer free, and then stops. A slot is free from the
// instant t at which its eviction ends; a write at t - 1 waits a nanosecond. The result does not
// depend on the number of steps in which time passes.
#[test]
fn the_background_keeps_slots_free() {
    for (early, steps) in [(0, 1), (1, 1), (0, 100), (1, 100)] {
        let mut profile = buffered("lru", 4);
        profile.cache.write_back = 0.5;
        let mut drive = drive(&profile);
        for page in 0..4 {
            write(&mut drive, page);
        }
        // Pages 0 and 1 are evicted one after the other. Pages 4 and 5 then fill the buffer.
        let until = 2 * WRITE - early;
        for step in 1..=steps {
            drive.idle_until(Nanos(until / steps * step));
        }
        drive.idle_until(Nanos(until));
        assert_eq!((programs(&drive), held(&drive)), (2, vec![2, 3]));
        assert_eq!([write(&mut drive, 4), write(&mut drive, 5)], [Nanos(0), Nanos(early)]);
        drive.idle_until(drive.now() + Nanos::secs(1));
        assert_eq!((programs(&drive), held(&drive)), (4, vec![4, 5]));
    }
}

// A write that finds the buffer full waits for the complete evicted batch: for the sum of its
// programs on one package, or for the longest program on two packages. The next write finds room.
#[test]
fn a_batch_leaves_side_by_side() {
    for (packages, batch, waits) in
        [(1, 1, [WRITE, WRITE]), (1, 2, [2 * WRITE, 0]), (2, 1, [WRITE, WRITE]), (2, 2, [WRITE, 0])]
    {
        let mut profile = buffered("lru", 4);
        profile.flash.packages = packages;
        profile.cache.batch = batch;
        let mut drive = drive(&profile);
        for page in 0..4 {
            assert_eq!(write(&mut drive, page), Nanos(0));
        }
        let latencies = [4, 5].map(|page| write(&mut drive, page).0);
        assert_eq!(latencies, waits, "{batch} at once, packages: {packages}");
        assert_eq!((programs(&drive), held(&drive)), (2, vec![2, 3, 4, 5]));
    }
}

// Background eviction programs a complete batch at once. Two slots are free at the same time if
// their pages are on two packages. On one package, or with a batch of one, they are free one
// program apart.
#[test]
fn the_background_works_side_by_side() {
    for (packages, batch, second) in
        [(1, 1, 2 * WRITE), (1, 2, 2 * WRITE), (2, 1, 2 * WRITE), (2, 2, WRITE)]
    {
        let mut profile = buffered("lru", 4);
        profile.flash.packages = packages;
        profile.cache.batch = batch;
        profile.cache.write_back = 0.5;
        let mut drive = drive(&profile);
        for page in 0..4 {
            write(&mut drive, page);
        }
        drive.idle_until(Nanos(WRITE));
        let waits = [write(&mut drive, 4).0, write(&mut drive, 5).0];
        assert_eq!(waits, [0, second - WRITE], "{batch} at once, packages: {packages}");
    }
}

// A full buffer evicts a batch of 4: at most 3 further writes in a row find room. A buffer that
// drains makes several writes wait until half of it is free, and then accepts this half at once.
// The total time is the same within 10 %.
#[test]
fn a_full_buffer_drains_in_one_go() {
    let [each, drained] = [0.0, 0.5].map(|drain| {
        let mut profile = buffered("lru", 16);
        (profile.cache.batch, profile.cache.write_back) = (4, 0.75);
        profile.cache.drain = drain;
        let mut drive = drive(&profile);
        let all: Vec<bool> = (0..160).map(|page| write(&mut drive, page) == Nanos(0)).collect();
        let fast = all[16..].split(|fast| !fast).map(<[bool]>::len).max();
        (fast.unwrap_or_default(), drive.now().0)
    });
    assert!(each.0 <= 3 && (8..=10).contains(&drained.0), "{each:?} {drained:?}");
    assert!(drained.1.abs_diff(each.1) * 10 < each.1, "{each:?} {drained:?}");
}

#[test]
fn draining_more_than_the_background_frees_is_refused() {
    for options in ["cache.drain=0.1", "cache.write_back=0.5&cache.drain=0.6", "cache.drain=-1"] {
        let spec = format!("demo?cache.kind=lru&{options}");
        let error = flashscope_sim::open(&spec).err().expect("it is refused").to_string();
        assert!(error.contains("cache.drain"), "{error}");
    }
}

// `fifo` programs every write. Before a page is rewritten, its older version is evicted, with all
// pages that entered the buffer earlier.
#[test]
fn fifo_writes_all_out() {
    let mut drive = drive(&buffered("fifo", 3));
    for (page, programmed, holds) in [
        (5, 0, vec![5]),
        (6, 0, vec![5, 6]),
        (5, 1, vec![5, 6]),
        (7, 1, vec![5, 6, 7]),
        (7, 4, vec![7]),
        (8, 4, vec![7, 8]),
    ] {
        write(&mut drive, page);
        assert_eq!((programs(&drive), held(&drive)), (programmed, holds));
    }
}

// `gather` holds one run that grows in either direction. It evicts the run in order when the buffer
// is full, when another page is written, and when a page of the run is written again.
#[test]
fn gather_holds_one_run() {
    let mut drive = drive(&buffered("gather", 3));
    for (page, programmed, holds) in [
        (5, 0, vec![5]),
        (4, 0, vec![4, 5]),
        (6, 0, vec![4, 5, 6]),
        (7, 3, vec![7]),
        (20, 4, vec![20]),
        (20, 5, vec![20]),
        (18, 6, vec![18]),
    ] {
        write(&mut drive, page);
        assert_eq!((programs(&drive), held(&drive)), (programmed, holds));
    }
    let places = [4, 5, 6].map(|lpn| place(&drive, lpn).map(|(page, _)| page.index));
    assert_eq!(places, [Some(0), Some(1), Some(2)]);
}

/// A reference model of the buffer: its logical pages, oldest first.
struct PlainLru {
    pages: Vec<u32>,
    capacity: usize,
}

impl PlainLru {
    fn write(&mut self, page: u32) {
        self.pages.retain(|other| *other != page);
        if self.pages.len() == self.capacity {
            self.pages.remove(0);
        }
        self.pages.push(page);
    }
}

proptest! {
    // `lru` holds the same pages as a plain list, after any sequence of writes, reads, trims and
    // flushes.
    #[test]
    fn lru_agrees_with_a_plain_list(
        capacity in 1u64..6,
        ops in prop::collection::vec((0u32..20, 0u32..10), 1..80),
    ) {
        let mut drive = drive(&buffered("lru", capacity));
        let capacity = usize::try_from(capacity).expect("small");
        let mut plain = PlainLru { pages: Vec::new(), capacity };
        for (op, page) in ops {
            match op {
                0 => { flush(&mut drive); plain.pages.clear() }
                1 => {
                    round_trip(&mut drive, Op::Trim, u64::from(page) * PAGE, PAGE);
                    plain.pages.retain(|other| *other != page);
                }
                2..5 => { read(&mut drive, u64::from(page)); }
                _ => { write(&mut drive, u64::from(page)); plain.write(page) }
            }
            let mut expected = plain.pages.clone();
            expected.sort_unstable();
            prop_assert_eq!(held(&drive), expected);
        }
    }
}

/// Returns a drive with a `bplru` buffer of 8 pages whose first 24 pages are on flash.
fn bplru() -> SimDevice {
    let mut drive = drive(&buffered("bplru", 8));
    round_trip(&mut drive, Op::Write, 0, 24 * PAGE);
    flush(&mut drive);
    drive
}

// Block-level LRU (Kim and Ahn, FAST'08, section 3.1) with 4 pages in a block: a write of one page
// makes its block the newest. An eviction removes all pages of the oldest block.
#[test]
fn bplru_gives_up_the_oldest_block() {
    let mut drive = bplru();
    for page in [8, 9, 11, 12, 14, 0, 1, 5] {
        assert_eq!(write(&mut drive, page), Nanos(0));
    }
    // Block 2 becomes the newest, with pages 8 and 11, which are not written again; block 3 is the
    // oldest.
    write(&mut drive, 9);
    write(&mut drive, 19);
    assert_eq!(held(&drive), [0, 1, 5, 8, 9, 11, 19]);
    // One slot of block 3 is still free. The next write evicts block 0, although page 1 was read
    // since.
    write(&mut drive, 18);
    read(&mut drive, 1);
    write(&mut drive, 17);
    assert_eq!(held(&drive), [5, 8, 9, 11, 17, 18, 19]);
}

// Page padding (Kim and Ahn, section 3.2): when a block is evicted, its missing pages are read and
// programmed with its other pages,
// in order. The block is then contiguous on the flash. Pages without data are left out.
#[test]
fn bplru_pads_blocks() {
    let mut drive = bplru();
    round_trip(&mut drive, Op::Trim, 15 * PAGE, PAGE);
    let before = drive.counters();
    write(&mut drive, 14);
    write(&mut drive, 12);
    // The read for the copy comes before the programs.
    assert_eq!(flush(&mut drive), Nanos(3 * WRITE + READ));
    let flash = drive.counters().since(&before).flash;
    assert_eq!((flash.programs.host, flash.reads.host), (3, 1));
    let places: Vec<_> = (12..15).filter_map(|lpn| drive.locate(Lpn(lpn))).collect();
    let block = places[0].block;
    assert!(places.iter().zip(0..).all(|(page, index)| (page.block, page.index) == (block, index)));
    assert_eq!(drive.locate(Lpn(15)), None);
}

// LRU compensation (Kim and Ahn, section 3.3): a block that was written completely and in order,
// even in small parts, is evicted
// first although it is the newest. This does not apply to a block written in another order.
#[test]
fn bplru_gives_up_sequential_blocks_first() {
    for (part, backwards) in [(4 * PAGE, false), (PAGE, false), (512, false), (PAGE, true)] {
        let mut drive = bplru();
        for page in [20, 0, 5, 1] {
            write(&mut drive, page);
        }
        let parts: Vec<_> = (0..4 * PAGE / part).collect();
        for index in if backwards { parts.into_iter().rev().collect() } else { parts } {
            round_trip(&mut drive, Op::Write, 8 * PAGE + index * part, part);
        }
        write(&mut drive, 14);
        let expected: &[u32] =
            if backwards { &[0, 1, 5, 8, 9, 10, 11, 14] } else { &[0, 1, 5, 14, 20] };
        assert_eq!(held(&drive), expected, "in parts of {part}");
    }
}

/// Generates small drives of every shape with buffers of every kind. Many of these profiles are
/// invalid.
pub(crate) fn buffered_profiles() -> impl Strategy<Value = Profile> {
    let buffer = (0..KINDS.len(), 1u64..40, any::<bool>(), 0u8..3, 0u32..4, 1u32..4);
    (profiles(), buffer, any::<bool>()).prop_map(|(mut profile, buffer, timed)| {
        let logical_page = match profile.logical_page_size.0 {
            0 => profile.flash.page_size.0 * u64::from(profile.page_span),
            size => size,
        };
        profile.timed = timed;
        profile.cache.kind = KINDS[buffer.0].name.into();
        profile.cache.size.0 = buffer.1 * logical_page;
        profile.cache.protected = buffer.2;
        profile.cache.write_back = f64::from(buffer.3) / 2.0;
        profile.cache.read_ahead = buffer.4;
        profile.cache.batch = buffer.5;
        profile
    })
}

/// Issues random IOs and compares the drive with the set of written pages: each written page is in
/// the buffer or on the flash, each page that left the buffer was programmed, and a trimmed page is
/// in neither.
fn exercise(drive: &mut SimDevice, page_size: u64, seed: u64, trims: bool) {
    let mut random = fastrand::Rng::with_seed(seed);
    let blocks = drive.info().capacity.0 / LOGICAL_BLOCK;
    let pages = u32::try_from(drive.info().capacity.0 / page_size).expect("a small drive");
    let mut written = BTreeSet::new();
    for _ in 0..300 {
        let op =
            [Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush][random.usize(..6)];
        let op = if op == Op::Trim && !trims { Op::Write } else { op };
        let limit = if random.bool() { blocks } else { blocks.div_ceil(5) };
        let offset = random.u64(..limit) * LOGICAL_BLOCK;
        let most = (blocks - offset / LOGICAL_BLOCK).min(40);
        let len = if op == Op::Flush { 0 } else { random.u64(1..=most) * LOGICAL_BLOCK };
        let buffered: Vec<_> = (0..pages).filter(|lpn| drive.cache().holds(Lpn(*lpn))).collect();
        let places: Vec<_> = buffered.iter().map(|lpn| place(drive, *lpn)).collect();
        round_trip(drive, op, offset, len);
        let longest = 1 << random.u32(1..22);
        drive.idle_until(drive.now() + Nanos(random.u64(..longest)));
        let touched = (offset / page_size..(offset + len).div_ceil(page_size))
            .map(|page| u32::try_from(page).expect("a small drive"));
        match op {
            Op::Write => written.extend(touched),
            Op::Trim => {
                let whole = |lpn: u32| {
                    let start = u64::from(lpn) * page_size;
                    offset <= start && start + page_size <= offset + len
                };
                touched.filter(|lpn| whole(*lpn)).for_each(|lpn| {
                    written.remove(&lpn);
                });
            }
            Op::Flush if !drive.cache().protected() => {
                assert_eq!(drive.cache().dirty(drive.now()), []);
            }
            Op::Read | Op::Flush => {}
        }
        for (lpn, before) in buffered.into_iter().zip(places) {
            let left = written.contains(&lpn) && !drive.cache().holds(Lpn(lpn));
            assert!(!left || place(drive, lpn) != before, "page {lpn} is lost");
        }
        let exists =
            |lpn: &u32| drive.cache().holds(Lpn(*lpn)) || drive.locate(Lpn(*lpn)).is_some();
        assert!((0..pages).filter(exists).eq(written.iter().copied()), "the pages that hold data");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    // No sequence of IOs makes a drive with a buffer lose a page, or return a trimmed page.
    #[test]
    fn no_buffer_loses_a_page(
        profile in buffered_profiles().prop_filter("refused", |profile| profile.layout().is_ok()),
        seed: u64,
    ) {
        let mut drive = drive(&profile);
        let page_size = drive.nand().geometry().logical_page_size;
        let trims = profile.layout().is_ok_and(|layout| layout.family.trims());
        exercise(&mut drive, page_size.into(), seed, trims);
    }
}

// Pages are read ahead only after a read that continues the previous one. A page is available at
// the instant t at which the flash has read it; a read at t - 1 waits a nanosecond.
#[test]
fn sequential_reads_are_read_ahead() {
    for early in [0, 1] {
        let mut profile = one_pool(64);
        profile.cache.read_ahead = 2;
        let mut drive = drive(&profile);
        round_trip(&mut drive, Op::Write, 0, 9 * PAGE);
        let start = drive.now();
        assert_eq!((read(&mut drive, 7), read(&mut drive, 1)), (Nanos(READ), Nanos(READ)));
        assert_eq!(drive.counters().flash.reads.host, 2);
        assert_eq!(read(&mut drive, 2), Nanos(READ));
        assert_eq!(drive.counters().flash.reads.host, 5);
        drive.idle_until(Nanos(start.0 + 4 * READ - early));
        assert_eq!(read(&mut drive, 3), Nanos(early));
        // Page 5 is being fetched. Page 4 is already in the buffer, and is dropped when it is
        // written.
        assert_eq!(drive.counters().flash.reads.host, 6);
        round_trip(&mut drive, Op::Write, 4 * PAGE, PAGE);
        drive.idle_until(drive.now() + Nanos::millis(10));
        assert_eq!(read(&mut drive, 4), Nanos(READ));
    }
}

#[test]
fn read_ahead_uses_all_packages_with_one_read_in_flight() {
    let time = |read_ahead, streams: u64| {
        let mut profile = Profile::default();
        profile.cache.read_ahead = read_ahead;
        profile.flash.blocks_per_plane = 16;
        profile.cleaning.free_threshold = 0.05;
        let mut drive = drive(&profile);
        round_trip(&mut drive, Op::Write, 0, 2048 * PAGE);
        let start = drive.now();
        for nth in 0..1024 {
            read(&mut drive, nth % streams * 512 + nth / streams);
        }
        (drive.now() - start).0
    };
    for streams in [1, 4] {
        assert_eq!(time(0, streams), 1024 * READ);
        let ahead = time(8, streams);
        assert!(ahead < 1024 * READ / 6, "{streams} streams take {ahead} ns");
    }
}

/// Returns the pages moved by garbage collection and the pages programmed, both per page that the
/// host writes. The host writes at random to 16 of the drive's logical blocks at a time.
fn with_locality(kind: &str) -> (f64, f64) {
    let mut profile = one_pool(512);
    profile.cache.kind = kind.into();
    profile.cache.size.0 = 16 * 64 * PAGE;
    let mut drive = drive(&profile);
    let blocks = drive.info().capacity.0 / PAGE / 64;
    for block in 0..blocks {
        round_trip(&mut drive, Op::Write, block * 64 * PAGE, 64 * PAGE);
    }
    let mut random = fastrand::Rng::with_seed(8);
    let mut open: Vec<_> = (0..16).collect();
    let mut run = |drive: &mut SimDevice, writes: u64| {
        for nth in 0..writes {
            if nth % 64 == 0 {
                open[random.usize(..16)] = random.u64(..blocks);
            }
            let page = open[random.usize(..16)] * 64 + random.u64(..64);
            write(drive, page);
        }
    };
    run(&mut drive, 200_000);
    let before = drive.counters();
    run(&mut drive, 200_000);
    let done = drive.counters().since(&before);
    let each = |count: u64| count as f64 / done.host_pages_written as f64;
    (each(done.pages_moved()), each(done.flash.programs.total()))
}

#[test]
fn bplru_leaves_less_to_move_than_lru() {
    let [none, lru, bplru] = ["none", "lru", "bplru"].map(with_locality);
    println!("moved and programmed per host page: none {none:?}, lru {lru:?}, bplru {bplru:?}");
    assert!(bplru.0 < 0.5 * lru.0 && lru.0 < none.0, "{none:?} {lru:?} {bplru:?}");
}

#[test]
fn stream_hints_stay_with_the_buffered_page() {
    let mut drive = drive(&buffered("lru", 2));
    drive.submit(&Io { stream: 3, ..request(Op::Write, 0, PAGE, Nanos(0)) });
    drain(&mut drive);
    assert_eq!(drive.cache().dirty(Nanos(0)).first().map(|slice| slice.stream), Some(3));
}
