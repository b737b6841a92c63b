//! Compares placement of data by the host with drives that separate data in other ways, with a mean
//! field for each class, and with the address of each page.

use std::collections::{BTreeMap, BTreeSet};

use flashscope_block::{Bytes, Completion, Device, Io, Nanos, Op, PlacementLimits};
use flashscope_sim::ftl::HandleCounts;
use flashscope_sim::gc::Ties;
use flashscope_sim::nand::Lpn;
use flashscope_sim::setup::{Frontiers, Identifiers, Isolation, Placement, Scope};
use flashscope_sim::{Counters, Profile, SimDevice};

use crate::exactness::{PAGE, drive_with};
use crate::{drive, request};

/// The bit of a stream that stands for the second of two groups.
const SECOND_GROUP: u16 = 1 << 15;

fn handles(handles: u32, isolation: Isolation) -> Placement {
    Placement { handles, isolation, ..Placement::default() }
}

/// A class of data: its share of the writes, its share of the pages, and its stream.
type Class = (f64, f64, u16);

/// A generator of writes to random pages of classes.
struct Classes {
    classes: Vec<Class>,
    pages: u64,
    random: fastrand::Rng,
}

impl Classes {
    fn new(pages: u64, classes: &[Class]) -> Classes {
        Classes { classes: classes.to_vec(), pages, random: fastrand::Rng::with_seed(7) }
    }

    /// Returns the stream of a page.
    fn stream_of(&self, page: u64) -> u16 {
        let mut end = 0.0;
        let class = self.classes.iter().find(|(_, pages, _)| {
            end += pages;
            page < self.place(end)
        });
        class.map_or(0, |(_, _, stream)| *stream)
    }

    /// Returns the first page after this share of the pages.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `pages`
    fn place(&self, share: f64) -> u64 {
        (self.pages as f64 * share).round() as u64
    }

    /// Returns the page and the stream of the next write.
    fn next(&mut self) -> (u64, u16) {
        let (mut share, mut space) = (self.random.f64(), 0.0);
        for (writes, pages, stream) in &self.classes {
            let end = space + pages;
            if share < *writes {
                return (self.random.u64(self.place(space)..self.place(end)), *stream);
            }
            (share, space) = (share - writes, end);
        }
        (self.random.u64(..self.pages), 0)
    }
}

fn write(drive: &mut SimDevice, page: u64, stream: u16) -> Completion {
    let at = drive.now();
    drive.submit(&Io { stream, ..request(Op::Write, page * PAGE, PAGE, at) });
    let done = drive.complete(Nanos::MAX).expect("in flight");
    assert_eq!(done.result, Ok(()));
    done
}

/// Fills a drive by classes, warms it up, and returns the counts of the measurement and all
/// completion times.
fn run(drive: &mut SimDevice, mut classes: Classes, rounds: [u64; 2]) -> (Counters, Vec<Nanos>) {
    let pages = classes.pages;
    let mut times: Vec<Nanos> =
        (0..pages).map(|page| write(drive, page, classes.stream_of(page)).completed).collect();
    let mut start = drive.counters();
    for round in rounds {
        start = drive.counters();
        for _ in 0..round * pages {
            let (page, stream) = classes.next();
            times.push(write(drive, page, stream).completed);
        }
    }
    (drive.counters().since(&start), times)
}

// Two persistently isolated handles behave like hot and cold frontiers, which have a separate
// oracle.
#[test]
fn two_persistent_handles_are_hot_and_cold_frontiers() {
    let classes = |cold| [(0.9, 0.05, 0), (0.1, 0.95, cold)];
    let (mut one, pages) =
        drive_with(256, 0.9, |profile| profile.cleaning.frontiers = Frontiers::HotAndCold);
    let (mut other, _) =
        drive_with(256, 0.9, |profile| profile.placement = handles(2, Isolation::Persistent));
    let expected = run(&mut one, Classes::new(pages, &classes(2)), [3, 3]);
    assert_eq!(run(&mut other, Classes::new(pages, &classes(1)), [3, 3]), expected);
    assert!(expected.0.pages_moved() > 1000);
}

// With all data on one handle, initial isolation behaves like one frontier for the host and one for
// garbage collection.
#[test]
fn initial_isolation_of_one_handle_is_a_frontier_for_cleaning() {
    let classes = [(0.9, 0.05, 0), (0.1, 0.95, 0)];
    let (mut one, pages) =
        drive_with(256, 0.9, |profile| profile.cleaning.frontiers = Frontiers::HostAndCleaning);
    let (mut other, _) =
        drive_with(256, 0.9, |profile| profile.placement = handles(2, Isolation::Initial));
    let expected = run(&mut one, Classes::new(pages, &classes), [3, 3]);
    assert_eq!(run(&mut other, Classes::new(pages, &classes), [3, 3]), expected);
    assert!(expected.0.pages_moved() > 1000);
}

// Greedy garbage collection chooses the block with the fewest valid pages among the blocks of all
// handles. If ties go to the youngest block, the blocks of each class have the same mean number of
// valid pages when they are collected. Each class then behaves like a drive with uniform writes and
// the same share of spare pages, whatever its rate. The expected write amplification is the mean
// field of uniform writes (Van Houdt, SIGMETRICS'13): 4.8213 at 10 % and 6.6155 at 7 %.
//
// If ties go to the oldest block, a block waits with j valid pages for the same time T in each
// class, unless it loses a page first. A class with the share w of the writes and f of the pages
// loses each page at the rate w/f, so that v = j - 1 + exp(-j T w/f) pages are valid when its
// blocks are collected. Its blocks number w/(b - v) (f/w (H_b - H_j) + (1 - exp(-j T w/f)) f/(j
// w)). These add up to the blocks in use, which gives j and T, and the write amplification is the
// sum of w b/(b - v). Here b is the number of pages in a block, and H_n the n-th harmonic number.
#[test]
fn persistent_classes_have_their_mean_field() {
    let two = [(0.8, 0.2, 1), (0.2, 0.8, 2)];
    let even = [(0.5, 0.5, 1), (0.5, 0.5, 2)];
    let three = [(0.6, 0.1, 1), (0.3, 0.3, 2), (0.1, 0.6, 3)];
    let cases: [(&[Class], Ties, f64, f64); 6] = [
        (&two, Ties::Youngest, 0.07, 6.6155),
        (&even, Ties::Youngest, 0.1, 4.8213),
        (&three, Ties::Youngest, 0.1, 4.8213),
        (&two, Ties::Oldest, 0.07, 6.4539),
        (&even, Ties::Oldest, 0.1, 4.8213),
        (&three, Ties::Oldest, 0.1, 4.6679),
    ];
    for (classes, ties, spare, expected) in cases {
        let handles = handles(1 + u32::try_from(classes.len()).unwrap(), Isolation::Persistent);
        let (mut drive, pages) = drive_with(4096, 1.0 - spare, |profile| {
            profile.placement = handles;
            profile.cleaning.ties = ties;
        });
        let (counts, _) = run(&mut drive, Classes::new(pages, classes), [12, 5]);
        let found = counts.write_amplification().expect("pages were written");
        let error = found / expected - 1.0;
        println!("{classes:?}, {ties:?}, {spare}: {found:.4} for {expected}, {error:+.4}");
        assert!(
            error.abs() < 0.01,
            "{classes:?}, {ties:?}: {found:.4} is {error:+.4} off {expected}"
        );
    }
}

/// Writes two circular logs, each to half of the drive. The first log receives three of every four
/// writes. Returns the counts after the first round of the slower log, and the drive.
fn two_logs(placement: Placement, streams: [u16; 2]) -> (Counters, SimDevice) {
    let (mut drive, pages) = drive_with(128, 0.9, |profile| profile.placement = placement);
    let half = pages / 2;
    let mut start = drive.counters();
    for nth in 0..24 * half {
        if nth == 4 * half {
            start = drive.counters();
        }
        match nth % 4 {
            3 => write(&mut drive, half + nth / 4 % (pages - half), streams[1]),
            _ => write(&mut drive, (nth - nth / 4) % half, streams[0]),
        };
    }
    (drive.counters().since(&start), drive)
}

// With perfect separation by lifetime, all pages of a block die before it is collected.
#[test]
fn separate_logs_of_different_speed_move_no_page() {
    let (mixed, _) = two_logs(Placement::default(), [1, 2]);
    assert!(mixed.write_amplification() > Some(1.2), "{:?}", mixed.write_amplification());
    for isolation in [Isolation::Initial, Isolation::Persistent] {
        let (apart, drive) = two_logs(handles(3, isolation), [1, 2]);
        assert_eq!(apart.write_amplification(), Some(1.0), "{isolation:?}");
        let counts = drive.placement();
        assert_eq!(counts.handles[1].pages_moved + counts.handles[2].pages_moved, 0);
        assert_eq!(counts.moved.units_opened, 0);
        let written: u64 = counts.handles.iter().map(|handle| handle.pages_written).sum();
        assert_eq!(written, drive.counters().host_pages_written);
        assert_eq!(counts.handles[1].pages_written, 3 * counts.handles[2].pages_written);
        let opened: u64 = counts.handles.iter().map(|handle| handle.units_opened).sum();
        let reclaimed: u64 = counts.handles.iter().map(|handle| handle.units_reclaimed).sum();
        assert_eq!(reclaimed, drive.counters().flash.erases.total());
        let in_use = drive.nand().geometry().blocks() - drive.free_blocks()[0];
        assert_eq!(opened - reclaimed, u64::from(in_use));
    }
}

/// Returns the number of blocks that hold data of both handles, each of which has one half of
/// `pages` pages.
fn shared_blocks(drive: &SimDevice, pages: u64) -> usize {
    let mut classes: BTreeMap<u32, BTreeSet<bool>> = BTreeMap::new();
    for page in 0..pages {
        let lpn = Lpn(u32::try_from(page).expect("a small drive"));
        let Some(place) = drive.locate(lpn) else { continue };
        classes.entry(place.block.0).or_default().insert(page < pages / 2);
    }
    classes.values().filter(|classes| classes.len() == 2).count()
}

// One handle writes random pages, another writes pages in turn. Persistently isolated handles never
// share a unit; initially isolated handles do once data has moved. In both cases, every page that
// the flash programs is written by the host or moved out of a unit of a handle.
#[test]
fn isolation_decides_which_data_shares_a_unit() {
    for isolation in [Isolation::Initial, Isolation::Persistent] {
        let (mut drive, pages) =
            drive_with(128, 0.85, |profile| profile.placement = handles(3, isolation));
        let (half, mut random) = (pages / 2, fastrand::Rng::with_seed(11));
        for nth in 0..10 * pages {
            match nth % 2 {
                0 => write(&mut drive, random.u64(..half), 1),
                _ => write(&mut drive, half + nth / 2 % (pages - half), 2),
            };
        }
        let (counts, flash) = (drive.placement(), drive.counters().flash);
        let all = || counts.handles.iter().chain([&counts.moved]);
        let sum = |of: fn(&HandleCounts) -> u64| all().map(of).sum::<u64>();
        let moved = sum(|counts| counts.pages_moved);
        assert_eq!(sum(|counts| counts.pages_written), drive.counters().host_pages_written);
        assert_eq!(flash.programs.total(), drive.counters().host_pages_written + moved);
        assert_eq!(sum(|counts| counts.units_reclaimed), flash.erases.total());
        let shared = shared_blocks(&drive, pages);
        match isolation {
            Isolation::Initial => assert!(shared > 0 && counts.moved.units_opened > 0),
            Isolation::Persistent => assert_eq!((shared, counts.moved.units_opened), (0, 0)),
        }
        assert!(counts.handles[1].pages_moved > 0, "random data is moved");
    }
}

// An identifier without a handle is invalid, and its data goes to handle 0.
#[test]
fn invalid_identifiers_are_counted_and_go_to_handle_0() {
    let (_, drive) = two_logs(handles(2, Isolation::Initial), [1, 2]);
    let counts = drive.placement();
    assert_eq!(counts.invalid_identifiers, counts.handles[0].pages_written);
    assert_eq!(counts.handles[1].pages_written, 3 * counts.invalid_identifiers);
    assert_eq!(counts.streams_replaced, 0);
}

// Streams get handles in the order of their first use. More streams than handles replace each
// other.
#[test]
fn streams_get_handles_until_all_are_in_use() {
    let streams = |count| Placement {
        identifiers: Identifiers::Streams,
        ..handles(count, Isolation::Initial)
    };
    let (expected, placed) = two_logs(handles(3, Isolation::Initial), [1, 2]);
    let (found, drive) = two_logs(streams(3), [4711, 815]);
    assert_eq!((found, drive.placement()), (expected, placed.placement()));
    let (_, drive) = two_logs(streams(2), [4711, 815]);
    let counts = drive.placement();
    let written = drive.counters().host_pages_written;
    // Of every four writes, the first and the last belong to a stream whose handle the other stream
    // has taken.
    assert_eq!(counts.streams_replaced, written / 2 - 1);
    assert_eq!(counts.handles[1].pages_written, written);
}

/// Returns a drive of four dies in one pool, in two groups of two.
fn two_groups() -> SimDevice {
    let mut profile = Profile { active_blocks: Scope::Die, ..Profile::default() };
    profile.flash.packages = 1;
    profile.flash.dies_per_package = 4;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = 64;
    profile.over_provisioning = 0.4;
    profile.interleaving = flashscope_sim::nand::Interleaving::Die;
    profile.placement = Placement { groups: 2, ..handles(2, Isolation::Initial) };
    drive(&profile)
}

// Data stays in its reclaim group, also when garbage collection moves it.
#[test]
fn data_stays_in_its_reclaim_group() {
    let mut drive = two_groups();
    let (half, mut random) = (drive.info().capacity.0 / PAGE / 2, fastrand::Rng::with_seed(3));
    for nth in 0..20 * half {
        let page = if nth < half { nth } else { random.u64(..half) };
        write(&mut drive, page, 1);
        write(&mut drive, half + page, SECOND_GROUP | 1);
    }
    assert!(drive.counters().pages_moved() > 1000);
    drive.catch_up();
    let die = |page: u64| {
        let place = drive.locate(Lpn(u32::try_from(page).unwrap())).expect("written");
        place.block.0 / 64
    };
    for page in 0..half {
        assert!(die(page) < 2 && die(half + page) >= 2, "page {page}");
    }
    assert_eq!(drive.placement().groups_overflowed, 0);
    assert_eq!(drive.placement().invalid_identifiers, 0);
}

// Data of a full group goes to another group, and no data is lost.
#[test]
fn a_full_group_overflows() {
    let mut drive = two_groups();
    let pages = drive.info().capacity.0 / PAGE;
    for page in 0..pages {
        write(&mut drive, page, SECOND_GROUP);
    }
    let counts = drive.placement();
    let second = 64 * 2 * 63;
    assert!(counts.groups_overflowed >= pages - second, "{counts:?} of {pages}");
    assert!(counts.groups_overflowed < pages / 2);
    // A pool of one lane cannot be divided into three groups.
    let mut profile = Profile::default();
    profile.placement.groups = 3;
    let error = profile.layout().map(drop).expect_err("one lane").to_string();
    assert!(error.contains("placement.groups"), "{error}");
}

// A page that is rewritten because it has become hard to read stays with its handle.
#[test]
fn refreshed_data_stays_with_its_handle() {
    let (mut drive, pages) = drive_with(64, 0.8, |profile| {
        profile.placement = handles(3, Isolation::Persistent);
        profile.reliability.read_disturb = 0.5;
        profile.reliability.refresh_retries = 2;
    });
    for page in 0..pages {
        write(&mut drive, page, 1 + u16::try_from(page % 2).unwrap());
    }
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..20 * pages {
        let at = drive.now();
        drive.submit(&request(Op::Read, random.u64(..pages) * PAGE, PAGE, at));
        assert!(drive.complete(Nanos::MAX).expect("in flight").result.is_ok());
    }
    let counts = drive.placement();
    assert!(drive.counters().flash.programs.wear > pages, "{:?}", drive.counters());
    assert_eq!(counts.handles[0].pages_written, 0);
}

// The reported room of a reclaim unit shrinks with each page. After an update, the handle fills
// another block, and the drive reports the remaining room of the previous block. Updates at random
// times lose no data and no space.
#[test]
fn updated_handles_go_on_in_empty_units() {
    let (mut drive, pages) =
        drive_with(64, 0.8, |profile| profile.placement = handles(3, Isolation::Initial));
    let placed = |drive: &mut SimDevice| -> PlacementLimits {
        drive.placed().expect("it has handles").limits()
    };
    let room = |drive: &mut SimDevice, handle| drive.placed().expect("handles").room(handle).0;
    let unit = placed(&mut drive).unit.0;
    assert_eq!((placed(&mut drive).handles, room(&mut drive, 2)), (3, unit));
    write(&mut drive, 0, 2);
    write(&mut drive, 1, 2);
    let left = unit - 2 * PAGE;
    assert_eq!([0, 1, 2].map(|handle| room(&mut drive, handle)), [unit, unit, left]);
    let renew = |drive: &mut SimDevice, handle| drive.placed().expect("handles").renew(handle);
    assert_eq!(renew(&mut drive, 2), Bytes(left));
    assert_eq!((renew(&mut drive, 2), renew(&mut drive, 1)), (Bytes(0), Bytes(0)), "empty units");
    assert_eq!(room(&mut drive, 2), unit);
    write(&mut drive, 2, 2);
    let block = |drive: &SimDevice, page| drive.locate(Lpn(page)).expect("written").block;
    assert_eq!(block(&drive, 0), block(&drive, 1));
    assert_ne!(block(&drive, 1), block(&drive, 2));
    let mut random = fastrand::Rng::with_seed(5);
    (0..pages).for_each(|page| _ = write(&mut drive, page, 1));
    let before = drive.counters().flash.programs.host;
    for _ in 0..10 * pages {
        write(&mut drive, random.u64(..pages), random.u16(..3));
        if random.u8(..20) == 0 {
            renew(&mut drive, random.u16(..3));
        }
    }
    assert_eq!(drive.counters().flash.programs.host - before, 10 * pages);
    assert!((0..pages).all(|page| drive.locate(Lpn(u32::try_from(page).unwrap())).is_some()));
}
