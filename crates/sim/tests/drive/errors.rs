//! Compares bit errors with the binomial distribution: retries, uncorrectable pages, and refresh.

use std::collections::BTreeMap;

use flashscope_block::{Device, Errno, Nanos, Op};
use flashscope_sim::nand::{Lpn, Page};
use flashscope_sim::{Profile, SimDevice};

use crate::exactness::PAGE;
use crate::{drive, one_pool, request, round_trip};

/// The time of an attempt to read a page: 25 us in the cells, 105.6 us on the bus.
const ATTEMPT: u64 = 130_600;
const GAIN: f64 = 0.8;
const RETRIES: u32 = 6;

/// Returns the profile of a drive of one plane. A page has eight codewords of 4096 bits, and each
/// codeword may have up to 40 wrong bits.
fn faulty(rate: f64) -> Profile {
    let mut profile = one_pool(512);
    profile.over_provisioning = 0.3;
    profile.flash.pages_per_block = 60;
    profile.reliability.read_retries = RETRIES;
    profile.reliability.refresh_retries = 1000;
    let errors = &mut profile.errors;
    (errors.rate, errors.correctable, errors.retry_gain) = (rate, 40, GAIN);
    errors.codeword.0 = 512;
    (errors.wear, errors.reads, errors.retention) = (0, 0, Nanos(0));
    profile
}

/// Returns the probability that a page cannot be corrected, from the lower tail of the binomial
/// distribution, summed from no errors.
fn failure(rate: f64) -> f64 {
    let (bits, mut term) = (4096.0, (4096.0 * (-rate).ln_1p()).exp());
    let mut corrected = term;
    for errors in 1..=40 {
        let k = f64::from(errors);
        term *= (bits - k + 1.0) / k * rate / (1.0 - rate);
        corrected += term;
    }
    1.0 - corrected.powi(8)
}

/// The numbers of reads by their retries, and the expected numbers.
#[derive(Default)]
struct Ladder {
    found: BTreeMap<u32, f64>,
    expected: [f64; RETRIES as usize + 1],
    /// The variance of each number.
    variance: [f64; RETRIES as usize + 1],
    failed: f64,
    expected_failed: f64,
}

impl Ladder {
    /// Reads a page whose raw bit error rate is `rate`.
    fn read(&mut self, drive: &mut SimDevice, page: u64, rate: f64) {
        drive.submit(&request(Op::Read, page * PAGE, PAGE, drive.now()));
        let done = drive.complete(Nanos::MAX).expect("it is answered");
        let retries = match done.result {
            Ok(()) => u32::try_from(done.latency().0 / ATTEMPT - 1).expect("a few"),
            Err(errno) => {
                assert_eq!(errno, Errno::EIO);
                self.failed += 1.0;
                RETRIES + 1
            }
        };
        *self.found.entry(retries).or_default() += 1.0;
        let more_than = |retries: u32| failure(rate * GAIN.powi(retries.cast_signed()));
        for retries in 0..=RETRIES {
            let before = if retries == 0 { 1.0 } else { more_than(retries - 1) };
            let share = before - more_than(retries);
            self.expected[retries as usize] += share;
            self.variance[retries as usize] += share * (1.0 - share);
        }
        self.expected_failed += more_than(RETRIES);
    }

    /// Checks each number of retries, to 4.5 standard deviations.
    fn check(&self, name: &str) {
        for retries in 0..=RETRIES {
            let found = self.found.get(&retries).copied().unwrap_or_default();
            let expected = self.expected[retries as usize];
            let bound = 4.5 * self.variance[retries as usize].max(0.0).sqrt() + 3.0;
            assert!((found - expected).abs() < bound, "{name}: {retries}: {found}, {expected:.1}");
        }
        let bound = 4.5 * self.expected_failed.max(0.0).sqrt() + 3.0;
        let (failed, expected) = (self.failed, self.expected_failed);
        assert!((failed - expected).abs() < bound, "{name}: {failed} failed, {expected:.1}");
    }
}

fn fill(drive: &mut SimDevice) -> u64 {
    let pages = drive.info().capacity.0 / PAGE;
    for page in 0..pages {
        round_trip(drive, Op::Write, page * PAGE, PAGE);
    }
    pages
}

fn place(drive: &SimDevice, page: u64) -> Page {
    drive.locate(Lpn(u32::try_from(page).expect("a small drive"))).expect("it was written")
}

// The share of pages that need each number of retries, and the share of pages that fail, follow the
// binomial distribution.
#[test]
fn retries_are_those_of_the_curve() {
    for rate in [0.004, 0.006, 0.008, 0.011, 0.02, 0.05] {
        let mut drive = drive(&faulty(rate));
        let pages = fill(&mut drive);
        let mut ladder = Ladder::default();
        (0..pages).for_each(|page| ladder.read(&mut drive, page, rate));
        ladder.check(&format!("rate {rate}"));
        #[allow(clippy::cast_precision_loss)]
        let failed = drive.counters().flash.failed_reads as f64;
        assert_eq!(failed.to_bits(), ladder.failed.to_bits());
    }
}

// The raw bit error rate grows with erases, age and reads, and differs by page type, as documented.
#[test]
fn errors_grow_with_wear_age_and_reads() {
    let mut profile = faulty(0.004);
    profile.errors.page_type = "0.5/1.5/1".parse().expect("factors");
    let mut typed = drive(&profile);
    let pages = fill(&mut typed);
    let mut ladder = Ladder::default();
    for page in 0..pages {
        let factor = [0.5, 1.5, 1.0][(place(&typed, page).index % 3) as usize];
        ladder.read(&mut typed, page, 0.004 * factor);
    }
    ladder.check("page types");

    let mut profile = faulty(0.002);
    (profile.errors.wear, profile.errors.wear_exponent) = (3, 1.5);
    let mut worn = drive(&profile);
    let pages = fill(&mut worn);
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..6 * pages {
        round_trip(&mut worn, Op::Write, random.u64(..pages) * PAGE, PAGE);
    }
    let mut ladder = Ladder::default();
    for page in 0..pages {
        let erases = f64::from(worn.nand().erases(place(&worn, page).block));
        ladder.read(&mut worn, page, 0.002 * (1.0 + (erases / 3.0).powf(1.5)));
    }
    ladder.check("wear");

    let mut profile = faulty(0.003);
    (profile.errors.retention, profile.errors.retention_exponent) = (Nanos::secs(1000), 0.5);
    let mut old = drive(&profile);
    let pages = fill(&mut old);
    // The age of a page counts from the first page of its block. The time of the read itself is far
    // below a thousandth of it.
    old.idle_until(Nanos::secs(4000));
    let mut ladder = Ladder::default();
    for page in 0..pages {
        let written = Nanos(page / 60 * 60 * 305_600);
        let age = (old.now().0 - written.0) as f64 / 1e12;
        ladder.read(&mut old, page, 0.003 * (1.0 + age.sqrt()));
    }
    ladder.check("age");

    let mut profile = faulty(0.003);
    profile.errors.reads = 100;
    let mut read = drive(&profile);
    let pages = fill(&mut read);
    let mut ladder = Ladder::default();
    for page in 0..pages {
        // Each block is read in order: a page is read after all earlier pages of its block.
        let before = f64::from(place(&read, page).index);
        ladder.read(&mut read, page, 0.003 * (1.0 + before / 100.0));
    }
    ladder.check("reads");
}

// A page that cannot be corrected remains unreadable until it is written again.
#[test]
fn uncorrectable_pages_stay_so_until_they_are_written() {
    let mut drive = drive(&faulty(0.022));
    let pages = fill(&mut drive);
    let answers = |drive: &mut SimDevice| -> Vec<bool> {
        (0..pages)
            .map(|page| {
                drive.submit(&request(Op::Read, page * PAGE, PAGE, drive.now()));
                drive.complete(Nanos::MAX).expect("it is answered").result.is_err()
            })
            .collect()
    };
    let (first, again) = (answers(&mut drive), answers(&mut drive));
    assert_eq!(first, again);
    let failed = |answers: &[bool]| answers.iter().filter(|failed| **failed).count();
    assert!(failed(&first) > 20, "{} pages failed", failed(&first));
    for page in (0..pages).filter(|page| first[usize::try_from(*page).expect("small")]) {
        round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
    }
    let after = answers(&mut drive);
    assert!(failed(&after) < failed(&first) / 2, "new data is as good as that of other pages");
}

// The drive rewrites pages that need retries. Fewer pages then need retries, and no aging data is
// lost.
#[test]
fn refresh_keeps_aging_data_readable() {
    let mut profile = faulty(0.003);
    (profile.errors.retention, profile.errors.retention_exponent) = (Nanos::secs(1000), 1.0);
    let failures = |refresh_retries| {
        let mut profile = profile.clone();
        profile.reliability.refresh_retries = refresh_retries;
        let mut drive = drive(&profile);
        let pages = fill(&mut drive);
        // Reads all of the drive every 400 s, as a scrubber on the host does.
        for pass in 1..=20 {
            drive.idle_until(Nanos::secs(400 * pass));
            for page in 0..pages {
                drive.submit(&request(Op::Read, page * PAGE, PAGE, drive.now()));
                drive.complete(Nanos::MAX).expect("it is answered");
            }
        }
        let flash = drive.counters().flash;
        (flash.failed_reads, flash.programs.wear)
    };
    let ((lost, rewritten), (kept, refreshed)) = (failures(1000), failures(2));
    assert!(lost > 1000 && rewritten == 0, "{lost} reads failed, {rewritten} pages rewritten");
    assert!(kept == 0 && refreshed > 1000, "{kept} reads failed, {refreshed} pages rewritten");
}

// Each attempt takes the time to decode, with and without queues.
#[test]
fn attempts_take_the_time_to_decode() {
    for policy in ["fcfs", "read-first"] {
        let mut profile = faulty(0.008);
        profile.flash.blocks_per_plane = 64;
        profile.errors.decode_time = Nanos(7000);
        profile.scheduling.policy = policy.into();
        let mut drive = drive(&profile);
        let pages = fill(&mut drive);
        let mut total = 0;
        for page in 0..pages {
            total += round_trip(&mut drive, Op::Read, page * PAGE, PAGE).latency().0;
        }
        let attempts = pages + drive.counters().flash.read_retries;
        assert!(attempts > pages + 100, "{attempts} attempts");
        assert_eq!(total, attempts * (ATTEMPT + 7000), "{policy}");
    }
}

// On a drive whose commands take no time, decoding takes no time either. A power cut between
// requests therefore undoes nothing.
#[test]
fn a_drive_that_only_counts_decodes_in_no_time() {
    let mut profile = faulty(0.008);
    (profile.timed, profile.errors.decode_time) = (false, Nanos::micros(50));
    let mut drive = drive(&profile);
    let pages = fill(&mut drive);
    let latency = |drive: &mut SimDevice, page: u64| {
        drive.submit(&request(Op::Read, page * PAGE, PAGE, drive.now()));
        drive.complete(Nanos::MAX).expect("it is answered").latency()
    };
    assert!((0..pages).all(|page| latency(&mut drive, page) == Nanos(0)));
    assert!(drive.counters().flash.read_retries > pages / 4);
}
