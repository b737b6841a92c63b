use flashscope_block::{Device, Op};
use flashscope_sim::{Profile, SimDevice};

use crate::{drive, one_pool, round_trip};

pub(crate) const PAGE: u64 = 4096;

/// Returns the write amplification of uniform random page writes in the steady state, over a drive
/// that was filled first.
fn uniform(drive: &mut SimDevice, logical_pages: u64, seed: u64) -> f64 {
    for lpn in 0..logical_pages {
        round_trip(drive, Op::Write, lpn * PAGE, PAGE);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut write = |drive: &mut SimDevice, count: u64| {
        for _ in 0..count {
            round_trip(drive, Op::Write, random.u64(..logical_pages) * PAGE, PAGE);
        }
    };
    write(drive, 5 * logical_pages);
    let start = drive.counters();
    write(drive, 5 * logical_pages);
    drive.counters().since(&start).write_amplification().expect("pages were written")
}

/// Returns a drive with 4096 blocks in use and two in reserve, and the number of its logical pages.
/// A share `rho` of the pages in the used blocks is valid.
fn drive_at(rho: f64) -> (SimDevice, u64) {
    drive_with(4096, rho, |_| {})
}

/// Does the same as [`drive_at`] with `used` blocks in use, after applying `change` to the profile.
pub(crate) fn drive_with(
    used: u32,
    rho: f64,
    change: impl FnOnce(&mut Profile),
) -> (SimDevice, u64) {
    // Two blocks are not in use: the active block, and the block that the threshold keeps free.
    let reserve = 2;
    let mut profile = one_pool(used + reserve);
    profile.cleaning.free_threshold = f64::from(reserve) / f64::from(used + reserve);
    profile.over_provisioning = 1.0 - rho * f64::from(used) / f64::from(used + reserve);
    change(&mut profile);
    let drive = drive(&profile);
    let pages = drive.info().capacity.0 / PAGE;
    (drive, pages)
}

// The write amplification of uniform random writes is that of the greedy mean field with 64 pages a
// block (Van Houdt, SIGMETRICS'13, for infinitely many choices).
#[test]
fn uniform_write_amplification_is_the_mean_fields() {
    for (rho, expected) in [(0.9, 4.8213), (0.8696, 3.8005)] {
        let (mut drive, pages) = drive_at(rho);
        let found = uniform(&mut drive, pages, 2008);
        let error = found / expected - 1.0;
        println!("rho {rho}: {found:.4}, expected {expected}, error {:+.3} %", 100.0 * error);
        assert!(error.abs() < 0.005, "rho {rho}: {found:.4} is {error:+.4} off {expected}");
    }
}

#[test]
fn sequential_rewrites_move_no_pages() {
    let (mut drive, pages) = drive_at(0.9);
    for lpn in (0..pages).cycle().take(3 * usize::try_from(pages).expect("small")) {
        round_trip(&mut drive, Op::Write, lpn * PAGE, PAGE);
    }
    let counters = drive.counters();
    assert_eq!(counters.pages_moved(), 0);
    assert!(counters.cleanings() > pages / 64, "{counters:?}");
    assert_eq!(counters.write_amplification(), Some(1.0));
    assert_eq!(drive.nand().erase_counts().map(u64::from).sum::<u64>(), counters.cleanings());
}
