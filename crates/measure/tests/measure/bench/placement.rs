//! No IO of a run touches a part of the drive in another state than the run needs.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Io, Nanos, Op};
use flashscope_document::manifest::{
    Experiment, Manifest, MicroBenchmark, OnError, Options, Progress, Run, State, find_run,
};
use flashscope_document::methodology::{EndedBy, Methodology, Precision};
use flashscope_measure::{Bench, Observer};
use flashscope_result::ResultFolder;
use flashscope_workload::pattern::{Address, Pattern, Reference};
use flashscope_workload::uflip::{self, PerBaseline, Setup};

use crate::bench::drive::{ScriptedDrive, manifest, place, short};

const SECTOR: u64 = 512;

/// The number, start and end of each run, in the order of execution.
#[derive(Default)]
struct Times(Vec<(u32, Nanos, Nanos)>);

impl Observer for Times {
    fn run_started(&mut self, _: &MicroBenchmark, _: &Experiment, run: &Run, now: Nanos) {
        self.0.push((run.id, now, Nanos::MAX));
    }
    fn run_finished(&mut self, _: &Run, _: u64, took: Nanos) {
        let last = self.0.last_mut().unwrap();
        last.2 = last.1 + took;
    }
}

/// The state of a sector.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Sector {
    Enforced,
    /// Written at random within half of the space or more, by the run of this number.
    Random(u32),
    /// Written in another way, by the run of this number.
    Disturbed(u32),
}

/// A plain model of the space: the state of each sector.
struct Model {
    state: State,
    offset: u64,
    sectors: Vec<Sector>,
}

impl Model {
    fn range(&self, io: &Io) -> std::ops::Range<usize> {
        let at = |bytes: u64| usize::try_from((bytes - self.offset) / SECTOR).unwrap();
        at(io.offset.0)..at(io.end().0)
    }

    /// Returns the runs that brought sectors of the IO into a state that run `run` must not meet.
    fn offenders(&self, io: &Io, run: u32, may_repeat: bool) -> BTreeSet<u32> {
        let of = |sector: &Sector| match *sector {
            Sector::Enforced => None,
            Sector::Random(by) if self.state == State::Random || by == run => None,
            Sector::Random(by) => Some(by),
            Sector::Disturbed(by) => (by != run || !may_repeat).then_some(by),
        };
        let alike = self.sectors[self.range(io)].chunk_by(PartialEq::eq);
        alike.filter_map(|sectors| of(&sectors[0])).collect()
    }

    fn write(&mut self, io: &Io, to: Sector) {
        let range = self.range(io);
        self.sectors[range].fill(to);
    }
}

/// Returns the pattern that an IO belongs to.
fn pattern_of(reference: &Reference, position: u64) -> Pattern {
    *reference.patterns()[reference.part_of(position, 0)]
}

/// Executes a plan and compares each IO with the model. Returns the number of IOs compared.
fn check(options: &Options, names: &[&str], slow_every: u64) -> u64 {
    let mut count = 0_u64;
    let mut device = ScriptedDrive::new(move |_, _| {
        count += 1;
        // Latencies vary, so that runs have different lengths.
        Nanos::micros(if count.is_multiple_of(slow_every) { 900 } else { 100 })
    });
    let mut manifest = manifest(&device, names, options.clone());
    let parent = place();
    let folder = ResultFolder::create(&parent.path().join("r.flashscope"), &manifest).unwrap();
    let (stop, mut times) = (AtomicBool::new(false), Times::default());
    let bench = Bench {
        device: &mut device,
        folder: &folder,
        manifest: &mut manifest,
        forgot: false,
        stop: &stop,
        observer: &mut times,
        surroundings: None,
    };
    { bench }.run().unwrap();
    compare(&manifest, &device.log, &times)
}

fn compare(manifest: &Manifest, log: &[(Nanos, Io)], times: &Times) -> u64 {
    let setup = &manifest.options.setup;
    let sectors = vec![Sector::Enforced; usize::try_from(setup.target_size.0 / SECTOR).unwrap()];
    let mut model = Model { state: manifest.options.state, offset: setup.target_offset.0, sectors };
    let (mut compared, mut runs) = (0, times.0.iter().peekable());
    let (mut position, mut of) = (0, None);
    for (at, io) in log {
        while let Some((id, _, end)) = runs.next_if(|(_, start, _)| at >= start) {
            let place = find_run(&manifest.micro_benchmarks, *id).unwrap();
            let shared = place.2.shares_space_with.iter().copied().collect::<BTreeSet<u32>>();
            (position, of) = (0, Some((*id, *end, place, shared)));
        }
        let Some((id, _, (benchmark, experiment, run), shared)) =
            of.as_ref().filter(|(_, end, ..)| at < end)
        else {
            // A part of the fill that enforces the state.
            assert_ne!(model.state, State::Keep);
            model.write(io, Sector::Enforced);
            continue;
        };
        let pattern = pattern_of(&run.reference, position);
        let half = 2 * (pattern.target_size.0 + pattern.io_size.0) > setup.target_size.0;
        let random = pattern.address == Address::Random;
        // Runs that measure repeated writes to the same offset.
        let in_place = pattern.address == Address::Ordered { incr: 0 };
        let may_repeat = random || in_place || benchmark.name == "locality";
        let offenders = model.offenders(io, *id, may_repeat);
        assert!(
            offenders.is_subset(shared),
            "run {id} ({} {} {}), IO {position} at {}: {offenders:?}, it shares with {shared:?}",
            benchmark.name,
            experiment.name,
            run.value,
            io.offset
        );
        compared += 1;
        position += 1;
        if io.op == Op::Write {
            let to = if random && half { Sector::Random(*id) } else { Sector::Disturbed(*id) };
            model.write(io, to);
        }
    }
    compared
}

fn all() -> Vec<&'static str> {
    uflip::all().map(|benchmark| benchmark.name).collect()
}

fn options(state: State, size: Bytes, seed: u64) -> Options {
    let setup = Setup { target_size: size, ..Setup::paper(size, seed) };
    let mut options = Options { setup, ..short(state, OnError::Stop) };
    options.setup.preparation_io_count = 600;
    options
}

#[test]
fn runs_of_given_length_touch_only_what_is_in_their_state() {
    let mut random = fastrand::Rng::with_seed(7);
    for seed in 0..3 {
        for state in [State::Random, State::Sequential, State::Keep] {
            let size = Bytes::mib(random.u64(24..64));
            let mut options = options(state, size, seed);
            options.setup.target_offset = Bytes::kib(512 * random.u64(0..64));
            options.setup.io_count = PerBaseline::same(random.u64(16..300));
            options.methodology.repeats = 1 + u32::from(seed % 3 == 0);
            assert!(check(&options, &all(), 17) > 10_000);
        }
    }
}

#[test]
fn runs_of_found_length_touch_only_what_is_in_their_state() {
    for (seed, state) in [(1, State::Random), (2, State::Sequential), (3, State::Keep)] {
        let mut options = options(state, Bytes::mib(96), seed);
        options.setup.io_count = PerBaseline::same(3000);
        options.methodology = Methodology {
            precision: Some(Precision { relative: 0.05, ..Precision::default() }),
            finds_io_ignore: true,
            finds_run_pause: true,
            ..Methodology::default()
        };
        assert!(check(&options, &all(), 5) > 50_000);
    }
}

#[test]
fn a_run_that_would_leave_its_space_stops_and_says_so() {
    let mut device = ScriptedDrive::even(Nanos::micros(100));
    let mut options = options(State::Random, Bytes::mib(16), 1);
    options.setup.io_count = PerBaseline::same(1024);
    let mut manifest = manifest(&device, &["order"], options);
    crate::bench::drive::bench(&mut device, &mut manifest, &AtomicBool::new(false));
    let runs: Vec<&Run> = manifest.runs().filter(|run| run.reference.writes()).collect();
    for run in runs {
        let in_place = run.value == 0;
        let ended_by = run.length.map(|length| length.ended_by);
        assert_eq!(run.cut_from_ios, (!in_place).then_some(1024), "{}", run.value);
        assert_eq!(ended_by, (!in_place).then_some(EndedBy::Space), "{}", run.value);
        let ios = if in_place { 1024 } else { 512 };
        assert_eq!(run.progress, Progress::Done { ios });
    }
}

#[test]
fn a_space_too_small_for_the_start_up_phase_says_what_would_fit() {
    let mut options = options(State::Random, Bytes::mib(16), 1);
    options.setup.io_ignore = PerBaseline::same(600);
    options.setup.io_count = PerBaseline::same(1024);
    let manifest = manifest(&ScriptedDrive::even(Nanos(1)), &["order"], options);
    let skipped = manifest.runs().find(|run| run.reference.writes()).unwrap();
    let Progress::Skipped { reason } = &skipped.progress else { panic!("{skipped:?}") };
    assert_eq!(
        reason,
        "the target space, 16 MiB, holds 512 IOs of the run, and the start-up phase takes 600: \
         22 MiB are missing; the run fits in 38 MiB (--target-size), or with an IOIgnore of 256 \
         (--io-ignore)"
    );
}
