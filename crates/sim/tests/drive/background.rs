use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::{Profile, SimDevice};

use crate::{drive, one_pool, request, round_trip};

const PAGE: u64 = 4096;

fn cleans_in_background() -> Profile {
    let mut profile = one_pool(100);
    profile.background_cleaning = true;
    profile
}

/// Returns a drive after random writes, far into foreground garbage collection.
fn used(profile: &Profile) -> SimDevice {
    let mut drive = drive(profile);
    let pages = drive.info().capacity.0 / PAGE;
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..4 * pages {
        round_trip(&mut drive, Op::Write, random.u64(..pages) * PAGE, PAGE);
    }
    drive
}

// Without background collection, the writes after a pause still wait.
#[test]
fn a_pause_cleans_in_the_background() {
    for background in [true, false] {
        let profile = Profile { background_cleaning: background, ..cleans_in_background() };
        let mut drive = used(&profile);
        let before = drive.counters();
        drive.idle_until(drive.now() + Nanos::secs(10));
        let cleaned = drive.counters().since(&before).cleanings();
        // Collection raises the number of free blocks from 5 to 10 of 100. An active block may be
        // opened in the meantime.
        assert_eq!(cleaned >= 4, background, "{cleaned} blocks");
        let slowest = (0..128).map(|i| round_trip(&mut drive, Op::Write, i * PAGE, PAGE).latency());
        assert_eq!(slowest.max() == Some(Nanos(305_600)), background);
    }
}

// Longer idle times change nothing when enough blocks are free.
#[test]
fn background_cleaning_stops() {
    let mut drive = used(&cleans_in_background());
    drive.idle_until(drive.now() + Nanos::secs(10));
    let before = drive.counters();
    drive.idle_until(drive.now() + Nanos::secs(1_000_000));
    assert_eq!(drive.counters(), before);
}

// A request waits for at most one page move or one erase, whenever it arrives.
#[test]
fn a_request_waits_for_one_step_at_most() {
    let (page, erase) = (436_200, 1_500_000);
    let mut longest = 0;
    let mut drive = used(&cleans_in_background());
    for step in 0..3000 {
        let at = Nanos(drive.now().0 + 10_000 + step % 7 * 99_991);
        assert_eq!(drive.complete(at), None);
        drive.submit(&request(Op::Read, 0, PAGE, at));
        let waited = drive.complete(Nanos::MAX).expect("in flight").latency().0 - 130_600;
        assert!(waited < erase, "waited {waited} ns");
        longest = longest.max(waited);
    }
    assert!(longest > page, "no request waited for an erase, only for {longest} ns");
}

// The result is the same whether time passes in one step or in many.
#[test]
fn idle_steps_do_not_change_the_result() {
    let run = |steps: u64| {
        let mut drive = used(&cleans_in_background());
        let start = drive.now().0;
        for step in 1..=steps {
            drive.idle_until(Nanos(start + 60_000_000 / steps * step));
        }
        (drive.counters(), round_trip(&mut drive, Op::Write, 0, PAGE))
    };
    assert_eq!(run(1), run(60_000));
    let before = used(&cleans_in_background()).counters();
    assert!(run(1).0.pages_moved() > before.pages_moved() + 20);
}

// A trim starts background work from its own time on, and not earlier.
#[test]
fn trims_start_no_work_in_the_past() {
    let mut drive = drive(&cleans_in_background());
    let pages = drive.info().capacity.0 / PAGE;
    for lpn in 0..pages {
        round_trip(&mut drive, Op::Write, lpn * PAGE, PAGE);
    }
    let mut free = 100 - pages.div_ceil(64);
    let mut at = 0;
    while free > 8 {
        round_trip(&mut drive, Op::Write, at * PAGE, 64 * PAGE);
        at += 64;
        free -= 1;
    }
    drive.idle_until(drive.now() + Nanos::secs(10));
    let before = drive.counters();
    round_trip(&mut drive, Op::Trim, 2048 * PAGE, 64 * PAGE);
    drive.idle_until(drive.now() + Nanos(1));
    assert!(drive.counters().since(&before).cleanings() <= 1, "{:?}", drive.counters());
}

// If the host fills the block that background collection has opened, a free block is still left for
// the remaining pages of the victim.
#[test]
fn writes_into_background_cleaning_leave_it_room() {
    let mut profile = one_pool(48);
    profile.flash.pages_per_block = 8;
    profile.background_cleaning = true;
    profile.cleaning.free_threshold = 2.0 / 48.0;
    let mut drive = drive(&profile);
    let pages = drive.info().capacity.0 / PAGE;
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..100_000 {
        round_trip(&mut drive, Op::Write, random.u64(..pages) * PAGE, PAGE);
        drive.idle_until(drive.now() + Nanos(random.u64(..1_000_000)));
    }
    assert!(drive.counters().pages_moved() > 10_000, "{:?}", drive.counters());
}
