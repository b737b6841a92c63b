//! Cells of several bits: page types, and the programming of word lines.

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::ftl;
use flashscope_sim::nand::Lpn;
use flashscope_sim::observe::{Command, CommandKind, Observer};
use flashscope_sim::setup::{PageTimes, PerPageType, Programming, Scope, Transfer};
use flashscope_sim::{Profile, SimDevice};

use crate::exactness::PAGE;
use crate::life::shape::{share_out, without_cleaning};
use crate::{drive, one_pool, request, round_trip};

/// The time that a page takes on the bus: 4096 + 128 bytes at 25 ns.
const TRANSFER: u64 = 105_600;
const READS: [u64; 4] = [40_000, 70_000, 55_000, 90_000];
const PROGRAMS: [u64; 4] = [300_000, 900_000, 700_000, 1_500_000];

fn times(of: &[u64]) -> PageTimes {
    PerPageType(of.iter().copied().map(Nanos).collect())
}

/// Returns the profile of a drive of one plane whose cells hold `bits` bits, with blocks of 60
/// pages.
fn typed(bits: usize) -> Profile {
    let mut profile = one_pool(64);
    profile.flash.pages_per_block = 60;
    profile.cells.bits_per_cell = u32::try_from(bits).expect("at most 4");
    profile.cells.page_read = times(&READS[..bits]);
    profile.cells.page_program = times(&PROGRAMS[..bits]);
    profile
}

/// Writes `pages` pages in order, and returns the time of each.
fn fill(drive: &mut SimDevice, pages: u64) -> Vec<u64> {
    let mut write = |page| round_trip(drive, Op::Write, page * PAGE, PAGE).latency().0;
    (0..pages).map(&mut write).collect()
}

// The mean time of a read is the mean over the page types, and each page takes the time of its
// type.
#[test]
fn reads_and_programs_take_the_time_of_their_page_type() {
    for bits in 1..=4 {
        let mut drive = drive(&typed(bits));
        let pages = 240;
        let writes = fill(&mut drive, pages);
        let mut total = 0;
        for (page, write) in writes.into_iter().enumerate() {
            assert_eq!(write, TRANSFER + PROGRAMS[page % bits], "{bits} bits, page {page}");
            let read = round_trip(&mut drive, Op::Read, page as u64 * PAGE, PAGE).latency().0;
            assert_eq!(read, READS[page % bits] + TRANSFER, "{bits} bits, page {page}");
            total += read;
        }
        let mix = READS[..bits].iter().sum::<u64>() / bits as u64;
        assert_eq!(total / pages, mix + TRANSFER, "{bits} bits");
    }
}

// A word line that is programmed in one shot takes a transfer for each page and one program. A
// write of a page takes the time of a transfer, and the last page also that of the
// program.
#[test]
fn a_word_line_is_programmed_in_one_shot() {
    for bits in [2, 3, 4] {
        let mut profile = typed(bits);
        profile.cells.page_program = PageTimes::default();
        profile.cells.programming = Programming::OneShot;
        profile.flash.page_program = Nanos(1_100_000);
        let writes = fill(&mut drive(&profile), 240);
        for (page, write) in writes.iter().enumerate() {
            let program = if page % bits == bits - 1 { 1_100_000 } else { 0 };
            assert_eq!(*write, TRANSFER + program, "{bits} bits, page {page}");
        }
        let word_lines = 240 / bits as u64;
        assert_eq!(writes.iter().sum::<u64>(), 240 * TRANSFER + word_lines * 1_100_000);
    }
}

// A drive whose page types all have the times of `[flash]` behaves like a drive without page types.
#[test]
fn equal_page_types_equal_flash_without_types() {
    let mut profile = typed(3);
    profile.cells.page_read = times(&[25_000; 3]);
    profile.cells.page_program = times(&[200_000; 3]);
    let plain = Profile { cells: Profile::default().cells, ..profile.clone() };
    let [mut typed, mut plain] = [drive(&profile), drive(&plain)];
    let pages = typed.info().capacity.0 / PAGE;
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..4 * pages {
        let op = if random.u32(..4) == 0 { Op::Read } else { Op::Write };
        let offset = random.u64(..pages) * PAGE;
        let [one, other] =
            [&mut typed, &mut plain].map(|drive| round_trip(drive, op, offset, PAGE));
        assert_eq!(one, other);
    }
    assert!(typed.counters().pages_moved() > 1000);
    assert_eq!(typed.counters(), plain.counters());
}

/// Checks the time of every read, program and copy of a drive with one die, from its page.
struct TimeCheck {
    bits: u32,
    count: u64,
}

impl Observer for TimeCheck {
    fn command(&mut self, command: &Command) {
        let index = (command.index % self.bits) as usize;
        let cells = match command.kind {
            CommandKind::Read => READS[index],
            CommandKind::Program => PROGRAMS[index],
            CommandKind::CopyBack => {
                let read = command.done.0 - command.start.0 - PROGRAMS[index];
                assert!(READS[..self.bits as usize].contains(&read), "{command:?}");
                return;
            }
            CommandKind::Erase => return,
        };
        let transfer = command.transfer.0;
        assert_eq!(command.done.0 - command.start.0, cells + transfer, "{command:?}");
        self.count += 1;
    }
}

/// Returns the profile of a small drive with an FTL and with half of its pages spare.
fn small(ftl: &ftl::Kind, bits: usize) -> Profile {
    let mut profile = typed(bits);
    profile.flash.blocks_per_plane = 32;
    profile.flash.pages_per_block = 12;
    profile.ftl = ftl.name.into();
    profile.over_provisioning = 0.5;
    profile.cleaning.free_threshold = 0.1;
    if !ftl.is_page_mapped() {
        without_cleaning(&mut profile);
        share_out(&mut profile, 0);
    }
    profile
}

// Every command takes the time of its page, including those of garbage collection and merges, with
// and without queues.
#[test]
fn every_command_takes_the_time_of_its_page() {
    for ftl in ftl::KINDS {
        for (bits, policy, copy_back) in
            [(3, "fcfs", false), (2, "read-first", false), (4, "fcfs", true)]
        {
            let mut profile = small(ftl, bits);
            profile.scheduling.policy = policy.into();
            if copy_back && ftl.is_page_mapped() {
                profile.active_blocks = Scope::Plane;
                profile.cleaning.transfer = Transfer::CopyBack;
            }
            let mut drive = drive(&profile);
            let bits = u32::try_from(bits).expect("at most 4");
            let checked = drive.observe(TimeCheck { bits, count: 0 });
            let pages = drive.info().capacity.0 / PAGE;
            let mut random = fastrand::Rng::with_seed(1);
            for _ in 0..6 * pages {
                let op = if random.u32(..4) == 0 { Op::Read } else { Op::Write };
                drive.submit(&request(op, random.u64(..pages) * PAGE, PAGE, drive.now()));
                drive.complete(Nanos::MAX).expect("it is answered").result.expect("it works");
            }
            let count = checked.lock().count;
            assert!(count > 6 * pages / 2, "{} by {policy}: {count} commands", ftl.name);
        }
    }
}

// Garbage collection copies pages of one type where only these are valid: a victim whose pages of
// other types were overwritten.
#[test]
fn copies_within_a_plane_read_the_type_of_their_source() {
    let mut profile = small(&ftl::KINDS[0], 3);
    profile.active_blocks = Scope::Plane;
    profile.cleaning.transfer = Transfer::CopyBack;
    profile.over_provisioning = 0.2;
    let mut drive = drive(&profile);
    let pages = drive.info().capacity.0 / PAGE;
    /// The time of each copy, without the time of its program.
    struct Copies(Vec<u64>);
    impl Observer for Copies {
        fn command(&mut self, command: &Command) {
            if command.kind == CommandKind::CopyBack {
                let program = PROGRAMS[(command.index % 3) as usize];
                self.0.push(command.done.0 - command.start.0 - program);
            }
        }
    }
    let copies = drive.observe(Copies(Vec::new()));
    fill(&mut drive, pages);
    // Only the middle pages, of type 1, keep the data of the first pass.
    let index = |lpn: u32| drive.locate(Lpn(lpn)).expect("it was written").index;
    let is_middle = |lpn: u32| index(lpn) % 3 == 1;
    let rewritten: Vec<u64> = (0..u32::try_from(pages).expect("a small drive"))
        .filter(|lpn| !is_middle(*lpn))
        .map(u64::from)
        .collect();
    for lpn in rewritten {
        if copies.lock().0.len() >= 4 {
            break;
        }
        round_trip(&mut drive, Op::Write, lpn * PAGE, PAGE);
    }
    let copies = &copies.lock().0;
    assert!(copies.len() >= 4, "nothing was copied");
    assert_eq!(copies[..4], [READS[1]; 4], "the first victim has only middle pages");
}
