//! The life of a drive, which input bytes determine: its profile, and a script of requests, pauses
//! and power cuts. No input may make the drive panic, hang or lose a page.
//!
//! The fuzz target and the tests run the same lives.

mod shadow;
pub(crate) mod shape;

use std::collections::BTreeMap;

use arbitrary::Unstructured;
use flashscope_block::{Bytes, Completion, Data, Device, Errno, Io, Nanos, Op};
use flashscope_sim::ftl::{self, Recovery};
use flashscope_sim::nand::BlockId;
use flashscope_sim::observe::{Command, Observer, ObserverHandle};
use flashscope_sim::setup::Placement;
use flashscope_sim::{Counters, Profile, SimDevice, gc, wear};

use self::shadow::Shadow;
use self::shape::LOGICAL_BLOCK;

/// Returns a number from `least` to `most`; `least` when the bytes are used up.
fn draw(bytes: &mut Unstructured<'_>, least: u32, most: u32) -> u32 {
    bytes.int_in_range(least..=most).unwrap_or(least)
}

fn flip(bytes: &mut Unstructured<'_>) -> bool {
    draw(bytes, 0, 1) == 1
}

fn pick<T: Copy>(bytes: &mut Unstructured<'_>, choices: &[T]) -> T {
    let last = u32::try_from(choices.len() - 1).expect("a short list");
    choices[draw(bytes, 0, last) as usize]
}

/// The outcome of a life, which the input bytes determine.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Story {
    pub(crate) completions: Vec<Completion>,
    pub(crate) recoveries: Vec<Recovery>,
    pub(crate) counters: Counters,
    /// The number of power cuts that occurred while requests were in flight.
    pub(crate) cuts_in_flight: usize,
    pub(crate) refused_writes: usize,
    /// The number of power cuts that occurred during the recovery from another power cut.
    pub(crate) recoveries_cut: usize,
    /// The number of pages written to handles other than the first.
    pub(crate) pages_placed: u64,
    /// The number of blocks that failed or expired.
    pub(crate) lost_blocks: u64,
}

/// The policies for victims and for wear levelling that override those of the input bytes.
pub(crate) type Policies = Option<(&'static gc::Kind, &'static wear::Kind)>;

/// Returns each page-mapped FTL with each pair of policies, and each other FTL without policies.
pub(crate) fn policies() -> Vec<(&'static ftl::Kind, Policies)> {
    let pairs = || {
        gc::KINDS.iter().flat_map(|cleaning| wear::KINDS.iter().map(move |wear| (cleaning, wear)))
    };
    let of = |ftl: &'static ftl::Kind| match ftl.is_page_mapped() {
        true => pairs().map(|pair| (ftl, Some(pair))).collect(),
        false => vec![(ftl, None)],
    };
    ftl::KINDS.iter().flat_map(of).collect()
}

/// An observer that panics after `left` flash commands: a request that needs so many would never
/// end.
struct Watchdog {
    left: u64,
}

impl Observer for Watchdog {
    fn command(&mut self, _command: &Command) {
        self.left = self.left.checked_sub(1).expect("a request has an end");
    }
}

/// A drive, and the script of its requests, pauses and power cuts.
pub(crate) struct Life<'a> {
    script: Unstructured<'a>,
    drive: SimDevice,
    shadow: Shadow,
    /// The requests in flight. The flag is false for a write that did not write all of its pages,
    /// and therefore has to fail.
    in_flight: BTreeMap<u64, (Io, bool)>,
    requests: u64,
    wears_out: bool,
    trims: bool,
    /// True if reads may cause pages to be rewritten.
    disturbs: bool,
    /// The bit of a stream that stands for the second reclaim group, if there is one.
    second_group: u16,
    patience: u64,
    watchdog: ObserverHandle<Watchdog>,
    steps: u32,
    story: Story,
}

impl<'a> Life<'a> {
    /// Returns the life that these bytes describe, or `None` if the drive is invalid. The last byte
    /// selects the FTL.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let last = bytes.last().copied().unwrap_or_default();
        Life::on(&ftl::KINDS[usize::from(last) % ftl::KINDS.len()], bytes)
    }

    /// Does the same as [`Life::new`] with this FTL.
    pub(crate) fn on(ftl: &ftl::Kind, bytes: &'a [u8]) -> Option<Self> {
        Life::with(ftl, None, bytes)
    }

    /// Does the same as [`Life::on`] with these policies, if any.
    pub(crate) fn with(ftl: &ftl::Kind, policies: Policies, bytes: &'a [u8]) -> Option<Self> {
        let mut script = Unstructured::new(bytes);
        let wears_out = draw(&mut script, 0, 3) == 3;
        let mut profile = shape::profile(ftl, &mut script);
        if let Some((cleaning, levelling)) = policies {
            profile.cleaning.policy = cleaning.name.into();
            profile.wear.policy = levelling.name.into();
            if levelling.migrates {
                profile.placement = Placement::default();
            }
        }
        if wears_out {
            shape::make_unreliable(&mut script, &mut profile);
        }
        Life::of(&profile, script, wears_out)
    }

    /// Does the same as [`Life::on`] for a drive whose commands wait in queues by this policy.
    pub(crate) fn queued(ftl: &ftl::Kind, policy: &str, bytes: &'a [u8]) -> Option<Self> {
        let mut script = Unstructured::new(bytes);
        let wears_out = draw(&mut script, 0, 3) == 3;
        let mut profile = shape::profile(ftl, &mut script);
        if wears_out {
            shape::make_unreliable(&mut script, &mut profile);
        }
        shape::wait_in_queues(&mut profile, policy);
        Life::of(&profile, script, wears_out)
    }

    fn of(profile: &Profile, script: Unstructured<'a>, wears_out: bool) -> Option<Self> {
        let mut drive = SimDevice::new("sim:life", profile).ok()?;
        drive.expect_power_cuts();
        let watchdog = drive.observe(Watchdog { left: 0 });
        let geometry = drive.nand().geometry();
        let pages = geometry.blocks() * geometry.pages_per_block * geometry.span;
        Some(Life {
            script,
            shadow: Shadow::new(&drive),
            in_flight: BTreeMap::new(),
            requests: 0,
            wears_out,
            trims: profile.layout().ok()?.family.trims(),
            disturbs: profile.reliability.read_disturb > 0.0 || profile.errors.rate > 0.0,
            second_group: if profile.placement.groups > 1 { 1 << 15 } else { 0 },
            patience: 1000 + 200 * u64::from(pages),
            watchdog,
            steps: 0,
            story: Story::default(),
            drive,
        })
    }

    /// Executes the whole script, and then the final checks.
    pub(crate) fn live(mut self) -> Story {
        while self.step() {}
        self.finish()
    }

    /// Executes the next step of the script. Returns false at its end.
    pub(crate) fn step(&mut self) -> bool {
        if self.script.is_empty() {
            return false;
        }
        self.steps += 1;
        self.watchdog.lock().left = self.patience;
        match draw(&mut self.script, 0, 31) {
            0..=11 => self.submit(Op::Write),
            12..=14 => self.submit(Op::Trim),
            15 | 16 => self.submit(Op::Read),
            17 | 18 => self.submit(Op::Flush),
            19 => self.fill(),
            20..=24 => self.complete_one(),
            25 | 26 => self.pause(),
            27 | 28 => self.drain(),
            _ => self.cut(),
        }
        if self.steps.is_multiple_of(32) {
            self.check();
        }
        true
    }

    /// Ends the life: waits for all answers, and checks and reads the whole drive.
    pub(crate) fn finish(mut self) -> Story {
        self.watchdog.lock().left = self.patience;
        self.drain();
        self.check();
        let blocks = self.capacity();
        self.request(Op::Read, 0, blocks);
        self.drain();
        self.story.counters = self.drive.counters();
        let handles = self.drive.placement().handles;
        self.story.pages_placed = handles.iter().skip(1).map(|handle| handle.pages_written).sum();
        let health = self.drive.health();
        self.story.lost_blocks = health.failed_blocks + health.expired_blocks;
        self.story
    }

    /// Returns the capacity in logical blocks.
    fn capacity(&self) -> u64 {
        self.drive.info().capacity.0 / LOGICAL_BLOCK
    }

    /// Issues a random request: often a small one, and often near the front of the drive.
    fn submit(&mut self, op: Op) {
        let (blocks, script) = (self.capacity(), &mut self.script);
        let limit = if flip(script) { blocks } else { blocks.div_ceil(5) };
        let small = |value: u64| u32::try_from(value).expect("a small drive");
        let offset = draw(script, 0, small(limit - 1));
        let longest = if flip(script) { 4 } else { 40 };
        let len = draw(script, 1, small((blocks - u64::from(offset)).min(longest)));
        match op {
            Op::Flush => self.request(op, 0, 0),
            _ => self.request(op, offset.into(), len.into()),
        }
    }

    /// Writes up to a quarter of the drive in order.
    fn fill(&mut self) {
        let blocks = self.capacity();
        let part = blocks.div_ceil(4);
        let from = part * u64::from(draw(&mut self.script, 0, 3));
        if from < blocks {
            self.request(Op::Write, from, part.min(blocks - from));
        }
    }

    fn request(&mut self, op: Op, offset: u64, len: u64) {
        while self.in_flight.len() >= self.drive.info().queue_depth as usize {
            self.complete_one();
        }
        self.requests += 1;
        let (request, at) = (self.requests, self.drive.now());
        // The stream identifies the request in its completion, and marks its data as hot or cold.
        let stream = u16::try_from(request % 4).expect("below 4");
        let stream = stream | if request / 4 % 2 == 1 { self.second_group } else { 0 };
        let (offset, len) = (offset * LOGICAL_BLOCK, len * LOGICAL_BLOCK);
        let io = Io { op, stream, offset: Bytes(offset), len: Bytes(len), at, data: Data::Random };
        self.drive.submit(&io);
        let mut all = true;
        match op {
            Op::Write => all = self.shadow.write(&self.drive, request, offset, len),
            Op::Trim if self.trims => self.shadow.trim(request, offset, len),
            Op::Read if self.disturbs => self.shadow.refreshed(&self.drive, request),
            Op::Trim | Op::Read | Op::Flush => {}
        }
        self.in_flight.insert(request, (io, all));
    }

    fn complete_one(&mut self) {
        if let Some(done) = self.drive.complete(Nanos::MAX) {
            self.completed(done);
        }
        assert!(!self.in_flight.is_empty() || self.drive.complete(Nanos::MAX).is_none());
    }

    fn drain(&mut self) {
        while let Some(done) = self.drive.complete(Nanos::MAX) {
            self.completed(done);
        }
        assert!(self.in_flight.is_empty(), "requests without an answer: {:?}", self.in_flight);
    }

    /// Lets a random time pass, in which requests in flight may be answered.
    fn pause(&mut self) {
        self.watchdog.lock().left = 50 * self.patience;
        let until = Nanos(self.drive.now().0 + self.interval());
        while let Some(done) = self.drive.complete(until) {
            self.completed(done);
        }
    }

    /// Returns a random time in nanoseconds, from 0 to long enough for background garbage
    /// collection to finish.
    fn interval(&mut self) -> u64 {
        let bits = draw(&mut self.script, 6, 25);
        u64::from(draw(&mut self.script, 0, (1 << bits) - 1))
    }

    fn completed(&mut self, done: Completion) {
        // If equal requests are in flight, one of them may fail and another succeed: prefer one for
        // which the result is plausible.
        let same = || self.in_flight.iter().filter(|(_, (io, _))| *io == done.io);
        let meant = same().find(|(_, (_, all))| *all == done.result.is_ok()).or(same().next());
        let (request, (io, all)) =
            meant.map(|(request, what)| (*request, *what)).expect("in flight");
        self.in_flight.remove(&request);
        match done.result {
            Ok(()) => {
                assert!(self.trims || io.op != Op::Trim, "{done:?} on a drive that knows no trims");
                assert!(all, "{done:?} was answered, but not every page was written");
                match io.op {
                    Op::Write => self.shadow.written(request, io.offset.0, io.len.0),
                    Op::Flush => self.shadow.flushed(request),
                    Op::Read | Op::Trim => {}
                }
            }
            Err(errno) if io.op == Op::Trim && !self.trims => {
                assert_eq!(errno, Errno::EOPNOTSUPP, "{done:?}");
            }
            Err(errno) => {
                self.story.refused_writes += 1;
                let health = self.drive.health();
                let retired = health.failed_blocks + health.expired_blocks;
                assert!(self.wears_out, "{done:?} on a drive that does not fail");
                assert!(matches!(io.op, Op::Write | Op::Flush | Op::Trim), "{done:?}");
                let flash = self.drive.counters().flash;
                let lost = retired + flash.failed_programs + flash.failed_erases;
                let end = health.end_of_life.is_some() && lost > 0;
                assert!(errno == Errno::EROFS && end, "{done:?} with {health:?}");
            }
        }
        self.story.completions.push(done);
    }

    /// Cuts the power after a random time, while requests may be in flight, and sometimes again
    /// soon after.
    fn cut(&mut self) {
        self.pause();
        self.watchdog.lock().left = self.patience;
        let again = if flip(&mut self.script) { draw(&mut self.script, 0, 3) } else { 0 };
        for nth in 0..=again {
            self.story.cuts_in_flight += usize::from(!self.in_flight.is_empty());
            self.in_flight.clear();
            // If the number of requests so far is odd, more cuts interrupt the recovery from the
            // last cut.
            let interrupted = nth == again && !self.requests.is_multiple_of(2);
            let waits = if interrupted { self.interruptions() } else { Vec::new() };
            self.story.recoveries_cut += usize::from(interrupted);
            match self.drive.cut_power_and_again(&waits) {
                Ok(recovery) => self.story.recoveries.push(recovery),
                Err(errno) => assert!(self.wears_out, "recovery fails with {errno:?}"),
            }
            self.shadow.recovered(&self.drive);
            self.check();
        }
    }

    /// Returns the time after which each of a few recoveries is interrupted. The times use no bytes
    /// of the script. Scripts that once broke a drive therefore still have the same meaning.
    fn interruptions(&self) -> Vec<Nanos> {
        let mut random = fastrand::Rng::with_seed(self.requests);
        let mut wait = || {
            let most = 1 << random.u32(8..24);
            Nanos(random.u64(..most))
        };
        (0..3).map(|_| wait()).collect()
    }

    fn check(&self) {
        self.shadow.check(&self.drive);
        let (nand, health) = (self.drive.nand(), self.drive.health());
        let bad = (0..nand.geometry().blocks()).filter(|block| nand.is_bad(BlockId(*block)));
        let known = health.factory_bad_blocks + health.failed_blocks + health.expired_blocks;
        assert_eq!(bad.count() as u64, known, "bad blocks: {health:?}");
    }
}

/// Compares `other`, which lacks the last of three writes, with the shadow of `honest`.
#[cfg(test)]
pub(crate) fn compare_with_another(honest: &mut SimDevice, other: &mut SimDevice) {
    let mut shadow = Shadow::new(honest);
    let size = honest.nand().geometry().logical_page_size;
    for (request, page) in (1..).zip([0, 1, 0]) {
        let (offset, len) = (page * u64::from(size), u64::from(size));
        let at = honest.now();
        let io = Io {
            op: Op::Write,
            stream: 0,
            offset: Bytes(offset),
            len: Bytes(len),
            at,
            data: Data::Random,
        };
        honest.submit(&io);
        assert!(shadow.write(honest, request, offset, len));
        assert!(honest.complete(Nanos::MAX).is_some());
        shadow.written(request, offset, len);
        if request < 3 {
            other.submit(&io);
            assert!(other.complete(Nanos::MAX).is_some());
        }
    }
    honest.cut_power().expect("it recovers");
    shadow.check(honest);
    shadow.recovered(other);
}
