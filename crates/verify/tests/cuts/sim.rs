//! Power cuts of simulated drives, whose flash undoes the operations that had not happened at the
//! cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, Errno, Io, Nanos, Op, WriteData};
use flashscope_document::verification::Verdict;
use flashscope_sim::nand::{Lpn, Stamp};
use flashscope_sim::setup::MapMemory;
use flashscope_sim::{Profile, SimDevice};

use crate::{Coverage, CutDrive, Trial};

const PAGE: usize = 4096;
/// The number of pages that the verification may write.
const PAGES: usize = 16;

/// The versions of a page.
#[derive(Default)]
struct Page {
    /// The contents in the order of their writes.
    versions: Vec<Vec<u8>>,
    /// The version of each copy on the flash, by its stamp.
    copies: BTreeMap<Stamp, usize>,
    stamp: Option<Stamp>,
}

/// A simulated drive with its data, which the simulator does not keep.
struct SimDrive {
    drive: SimDevice,
    data: Arc<dyn WriteData>,
    pages: Vec<Page>,
    random: fastrand::Rng,
    answers_left: u64,
    /// True for a drive that answers flushes without doing anything.
    ignores_flushes: bool,
    ignored: Vec<Io>,
}

impl SimDrive {
    fn new(trial: &Trial, profile: &Profile, data: Arc<dyn WriteData>) -> SimDrive {
        let mut drive = SimDevice::new("sim:test", profile).expect("the profile works");
        drive.keep_stamps();
        drive.expect_power_cuts();
        let mut random = fastrand::Rng::with_seed(trial.seed);
        SimDrive {
            drive,
            data,
            pages: (0..PAGES).map(|_| Page::default()).collect(),
            answers_left: random.u64(1..400),
            random,
            ignores_flushes: false,
            ignored: Vec::new(),
        }
    }

    /// Records the versions of the copies that reached the flash since the last call. Only the
    /// pages in `written` have received a new version since then.
    fn look(&mut self, written: &std::ops::Range<usize>) {
        for (index, page) in self.pages.iter_mut().enumerate() {
            let lpn = Lpn(index.try_into().expect("a small drive"));
            let stamp = self.drive.stamp(lpn);
            let Some(copy) = stamp.filter(|_| stamp != page.stamp) else { continue };
            // The newest version has just entered the buffer, and the copy on the flash has an
            // older version.
            let is_older = self.drive.cache().holds(lpn) && written.contains(&index);
            page.copies.insert(copy, page.versions.len() - 1 - usize::from(is_older));
            page.stamp = stamp;
        }
    }

    /// Adds the new version of each page that a write touches.
    fn write(&mut self, io: &Io) -> std::ops::Range<usize> {
        let mut data = vec![0; io.len.0 as usize];
        self.data.fill(io, &mut data);
        let (start, end) = (io.offset.0 as usize, io.end().0 as usize);
        for index in start / PAGE..end.div_ceil(PAGE) {
            let versions = &mut self.pages[index].versions;
            let mut page = versions.last().cloned().unwrap_or_else(|| vec![0; PAGE]);
            let (from, to) = (start.max(index * PAGE), end.min((index + 1) * PAGE));
            page[from - index * PAGE..to - index * PAGE]
                .copy_from_slice(&data[from - start..to - start]);
            versions.push(page);
        }
        start / PAGE..end.div_ceil(PAGE)
    }
}

impl Device for SimDrive {
    fn info(&self) -> &DeviceInfo {
        self.drive.info()
    }

    fn now(&self) -> Nanos {
        self.drive.now()
    }

    fn submit(&mut self, io: &Io) {
        if io.op == Op::Flush && self.ignores_flushes {
            self.ignored.push(*io);
            return;
        }
        let written = if io.op == Op::Write { self.write(io) } else { 0..0 };
        self.drive.submit(io);
        self.look(&written);
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        if self.answers_left == 0 {
            return None;
        }
        self.answers_left -= 1;
        if let Some(io) = self.ignored.pop() {
            let now = self.drive.now();
            return Some(Completion { io, submitted: now, completed: now, result: Ok(()) });
        }
        let done = self.drive.complete(until);
        self.look(&(0..0));
        done
    }
}

impl CutDrive for SimDrive {
    fn cut(&mut self) -> Vec<u8> {
        // The cut falls between two answers.
        let longest = 1 << self.random.u32(1..20);
        let wait = Nanos(self.drive.now().0 + self.random.u64(..longest));
        while self.drive.complete(wait).is_some() {
            self.look(&(0..0));
        }
        self.look(&(0..0));
        match self.drive.cut_power() {
            Ok(_) | Err(Errno::ENOSPC) => {}
            Err(errno) => panic!("no recovery: {errno}"),
        }
        let content = |(index, page): (usize, &Page)| {
            let stamp = self.drive.stamp(Lpn(index.try_into().expect("a small drive")));
            match stamp {
                // A copy that was written and superseded within one request: the next copy bounds
                // its version.
                Some(stamp) => {
                    page.versions[*page.copies.range(stamp..).next().expect("seen").1].clone()
                }
                None => vec![0; PAGE],
            }
        };
        self.pages.iter().enumerate().flat_map(content).collect()
    }
}

/// Returns a small drive with a write buffer of `buffer` pages; 0 for none.
fn profile(buffer: u64) -> Profile {
    let mut profile = Profile::default();
    profile.flash.packages = 1;
    profile.flash.dies_per_package = 1;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = 48;
    profile.flash.pages_per_block = 8;
    profile.persistence.map = MapMemory::NvRam;
    profile.interface.queue_depth = 8;
    if buffer > 0 {
        profile.cache.kind = "lru".into();
        profile.cache.size = Bytes(buffer * PAGE as u64);
    }
    profile
}

/// Returns the conditions for a simulated drive, which writes its pages atomically.
fn trial(seed: u64) -> Trial {
    Trial::new(seed, Bytes(PAGE as u64), Some(Bytes(PAGE as u64)))
}

#[test]
fn a_thousand_cuts_of_correct_simulated_drives_raise_no_alarm() {
    let mut exercised = Coverage::default();
    for seed in 0..1000 {
        let (trial, profile) = (trial(seed), profile([0, 2, 8][(seed % 3) as usize]));
        let (_, judged) = trial.run(|data| SimDrive::new(&trial, &profile, data), seed % 5 == 0);
        let judgement = &judged.judgement;
        assert_eq!(judgement.verdict(), Verdict::AsAcknowledged, "seed {seed}: {judgement:?}");
        exercised.add(&judged);
    }
    let Coverage { flushed, overlapping, unflushed_lost, .. } = exercised;
    assert!(flushed > 50_000 && overlapping > 10_000 && unflushed_lost > 100, "{exercised:?}");
}

#[test]
fn a_simulated_drive_that_ignores_flushes_is_found() {
    let damaged = (0..1000).filter(|seed| {
        let (trial, profile) = (trial(*seed), profile(8));
        let make =
            |data| SimDrive { ignores_flushes: true, ..SimDrive::new(&trial, &profile, data) };
        trial.run(make, false).1.judgement.bytes.lost > 0
    });
    let damaged = damaged.count();
    assert!(damaged > 500, "{damaged} cuts");
}
