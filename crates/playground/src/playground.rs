use std::collections::VecDeque;
use std::fmt;

use flashscope_block::{Bytes, Device, Nanos, Op};
use flashscope_sim::Design;
use flashscope_sim::budget::{Budget, Limit};
use flashscope_sim::nand::BlockId;
use flashscope_sim::observe::{Command, CommandKind, ObserverHandle};
use flashscope_sim::setup::{self, ProfileError};
use flashscope_sim::{Counters, Profile, SimDevice};
use flashscope_stats::Summary;
use flashscope_workload::Stream;
use flashscope_workload::state::SequentialFill;
use flashscope_workload::synthetic::{self, Ios, Target};

use crate::engine::{Engine, HostEvent};
use crate::film::{Event, Film, FlashCommand, PageState};
use crate::numbers::Numbers;
use crate::recorder::{Record, Recorder};
use crate::theory;
use crate::workload::Workload;

/// The maximum memory of a drive.
const MEMORY: Bytes = Bytes::mib(256);

/// The maximum number of pages of a drive, which are all drawn.
const MAX_PAGES: u64 = 1 << 20;

/// IOs in flight during a fill, as in `flashscope_measure`.
const FILL_DEPTH: u32 = 16;

/// The settings of a playground.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The drive, as after `sim:` on the command line. A profile in TOML may follow after a line
    /// break; the name before the `?` is then that of its file.
    pub drive: String,
    /// The workload.
    pub workload: Workload,
    /// IOs in flight.
    pub queue_depth: u32,
    /// True if every page was written once, from start to end, before the workload begins.
    pub filled: bool,
    /// The seed of the workload.
    pub seed: u64,
}

/// The reason why a playground cannot work, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn refusal(error: impl fmt::Display) -> Refusal {
    Refusal(error.to_string())
}

/// A drive, its workload, and the film of its flash.
pub struct Playground {
    drive: Box<SimDevice>,
    design: Design,
    recorder: ObserverHandle<Recorder>,
    engine: Engine,
    setup: Setup,
    /// The events that the drive has computed and the film has not shown.
    events: VecDeque<Event>,
    film: Film,
    theory: Option<f64>,
    /// The counts of the drive and its time when the workload began, after a fill if there was one.
    filled: (Counters, Nanos),
    latencies: [Summary; 2],
    failure: Option<Refusal>,
}

impl Playground {
    /// Opens a drive. Fills it if [`Setup::filled`] is true.
    ///
    /// # Errors
    /// Returns the reason if a setting is invalid.
    pub fn open(setup: &Setup) -> Result<Playground, Refusal> {
        let profile = profile(&setup.drive).map_err(refusal)?;
        let design = profile.design_without_zones("the playground").map_err(refusal)?;
        check(&design, setup)?;
        let memory = Budget::new(Limit::of(MEMORY));
        let mut drive = SimDevice::within("playground", &profile, &memory).map_err(refusal)?;
        drive.keep_stamps();
        let recorder = drive.observe(Recorder::default());
        let film = Film::new(&design.geometry, design.logical_pages());
        let stream = stream(&drive, setup, &setup.workload)?;
        let mut playground = Playground {
            filled: (drive.counters(), drive.now()),
            drive: Box::new(drive),
            theory: theory::write_amplification(&design, &setup.workload),
            design,
            recorder,
            engine: Engine::new(stream, setup.queue_depth),
            setup: setup.clone(),
            events: VecDeque::new(),
            film,
            latencies: Default::default(),
            failure: None,
        };
        if setup.filled {
            playground.fill();
        }
        Ok(playground)
    }

    /// Writes every page once, from start to end, and starts counting after that.
    fn fill(&mut self) {
        let capacity = self.drive.info().capacity;
        let depth = self.drive.info().queue_depth.min(FILL_DEPTH);
        let stream = Box::new(SequentialFill::new(Bytes(0), capacity));
        let workload = std::mem::replace(&mut self.engine, Engine::new(stream, depth));
        while self.compute() {
            self.show_all();
        }
        self.show_all();
        self.engine = workload;
        self.filled = (self.drive.counters(), self.drive.now());
        self.film.restart(self.drive.now());
        self.latencies = Default::default();
    }

    /// Changes the workload and the number of IOs in flight, but not the state of the drive. IOs in
    /// flight complete first.
    ///
    /// # Errors
    /// Returns the reason if the workload is invalid.
    pub(crate) fn change_workload(
        &mut self,
        workload: Workload,
        depth: u32,
    ) -> Result<(), Refusal> {
        let setup = Setup { workload, queue_depth: depth, ..self.setup.clone() };
        check(&self.design, &setup)?;
        let stream = stream(&self.drive, &setup, &workload)?;
        self.with_engine(|engine, drive, note| engine.drain(drive, note));
        self.engine = Engine::new(stream, depth);
        self.theory = theory::write_amplification(&self.design, &workload);
        self.latencies = Default::default();
        self.setup = setup;
        Ok(())
    }

    /// Shows up to `commands` flash commands, and computes IOs as needed. Returns the number of
    /// commands shown. It is smaller if the drive failed, or if `ios` IOs were computed first.
    pub fn advance(&mut self, commands: u32, ios: u32) -> u32 {
        let (mut shown, mut computed) = (0, 0);
        while shown < commands {
            if let Some(event) = self.events.pop_front() {
                shown += u32::from(self.show(&event));
            } else if computed == ios || !self.compute() {
                break;
            } else {
                computed += 1;
            }
        }
        shown
    }

    /// Shows the remaining commands of the IO in progress, then all flash commands of the next IO.
    pub(crate) fn advance_io(&mut self) {
        self.show_all();
        self.compute();
        self.show_all();
    }

    /// Computes IOs until `ios` more IOs have been answered, and shows everything. For tests.
    pub fn run(&mut self, ios: u64) {
        let mut answered = 0;
        while answered < ios && self.compute() {
            answered += 1;
            self.show_all();
        }
    }

    fn show_all(&mut self) {
        while let Some(event) = self.events.pop_front() {
            self.show(&event);
        }
    }

    fn show(&mut self, event: &Event) -> bool {
        if let Event::Answered { op, latency, .. } = *event
            && let Some(latencies) = self.latencies.get_mut(usize::from(op.code()))
        {
            latencies.push(latency.0);
        }
        self.film.show(event)
    }

    /// Computes the next answer. Returns false if there is none, because the stream ended or the
    /// drive failed.
    fn compute(&mut self) -> bool {
        self.failure.is_none() && self.with_engine(|engine, drive, note| engine.step(drive, note))
    }

    fn with_engine<T>(
        &mut self,
        act: impl FnOnce(&mut Engine, &mut SimDevice, &mut dyn FnMut(&SimDevice, HostEvent<'_>)) -> T,
    ) -> T {
        let Playground { engine, drive, events, recorder, design, failure, .. } = self;
        let size = u64::from(design.logical_page_size());
        let page = |bytes: u64| u32::try_from(bytes / size).unwrap_or(u32::MAX);
        let mut note = |drive: &SimDevice, event: HostEvent<'_>| match event {
            HostEvent::Submitting(io) => {
                let (op, first, pages) = (io.op, page(io.offset.0), page(io.len.0));
                events.push_back(Event::Submitted { op, first, pages });
                if op == Op::Trim {
                    events.extend((first..first + pages).map(|page| {
                        let stamp = drive.stamp(flashscope_sim::nand::Lpn(page));
                        Event::Trimmed { page, stamp: stamp.map_or(0, |stamp| stamp + 1) }
                    }));
                }
            }
            HostEvent::Worked => take(drive, recorder, events),
            HostEvent::Answered(completion) => {
                take(drive, recorder, events);
                let (io, at) = (completion.io, completion.completed);
                let latency = Nanos(at.0 - completion.submitted.0);
                events.push_back(Event::Answered {
                    op: io.op,
                    first: page(io.offset.0),
                    at,
                    latency,
                });
                if let Err(errno) = completion.result {
                    let place = io.offset.0;
                    *failure = Some(Refusal(format!("{errno} at a {} at offset {place}", io.op)));
                }
            }
        };
        act(engine, drive, &mut note)
    }

    /// Returns a byte for each page, block by block: see [`PageState`] and [`crate::Touch`].
    #[must_use]
    pub fn pages(&self) -> &[u8] {
        self.film.pages()
    }

    /// Returns a number for each block: 1 if the drive is emptying it, else 0.
    pub fn emptied(&self) -> impl Iterator<Item = u8> {
        self.film.emptied().map(u8::from)
    }

    /// Returns the erases of each block.
    #[must_use]
    pub fn erases(&self) -> &[u32] {
        self.film.erases()
    }

    /// Returns the IOs in flight, oldest first: the code of the operation and the logical page.
    pub fn in_flight(&self) -> impl Iterator<Item = [u32; 2]> {
        self.film.in_flight().iter().map(|(op, page)| [op.code().into(), *page])
    }

    /// Returns the curve of write amplification: host pages since the fill, and the write
    /// amplification of the window that ends there.
    pub fn curve(&self) -> impl Iterator<Item = (f64, f64)> {
        self.film.curve().points()
    }

    /// Forgets the last touch of each page, after a picture was taken.
    pub(crate) fn clear_touches(&mut self) {
        self.film.clear_touches();
    }

    /// Returns the reason why the drive failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&Refusal> {
        self.failure.as_ref()
    }

    /// Returns the command that simulates the same drive and workload. `--ios` sets the number of
    /// IOs.
    #[must_use]
    pub fn command_line(&self) -> String {
        let Setup { drive, workload, queue_depth, filled, seed } = &self.setup;
        let drive = drive.split('\n').next().unwrap_or(drive);
        let workload = workload.spec(self.design.logical_page_size());
        let fill = if *filled { "sequential" } else { "none" };
        format!(
            "flashscope simulate --drive '{drive}' --workload '{workload}' --fill {fill} \
             --warmup none --queue-depth {queue_depth} --seed {seed}"
        )
    }

    /// Returns the counters of the drive since the fill, which the film has shown once it has
    /// caught up.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.drive.counters().since(&self.filled.0)
    }

    /// Returns the numbers beside the picture.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // counts and times are far below 2^53
    pub fn numbers(&self) -> Numbers {
        let geometry = &self.design.geometry;
        let counts = self.film.counts();
        let host = |op: Op| counts.host[usize::from(op.code())] as f64;
        let programs = counts.programs_host + counts.programs_moved + counts.programs_mapping;
        let valid = [PageState::Written, PageState::Moved, PageState::Mapping];
        let pages = |state| self.film.count(state) as f64;
        let written = host(Op::Write);
        let [reads, writes] = &self.latencies;
        let tail = |of: &Summary| of.quantile(0.99).unwrap_or(0) as f64;
        let mean = |of: &Summary| if of.count() > 0 { of.mean().value } else { 0.0 };
        let last = self.film.last();
        let block = |block: Option<u32>| block.map_or(-1.0, f64::from);
        let per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        Numbers {
            dies: f64::from(geometry.blocks() / per_die),
            blocks_per_die: per_die.into(),
            pages_per_block: geometry.pages_per_block.into(),
            logical_pages: self.design.logical_pages().into(),
            page_size: self.design.logical_page_size().into(),
            host_written: written,
            host_read: host(Op::Read),
            host_trimmed: host(Op::Trim),
            programs_host: counts.programs_host as f64,
            programs_moved: counts.programs_moved as f64,
            programs_mapping: counts.programs_mapping as f64,
            flash_reads: counts.reads as f64,
            erases: counts.erases as f64,
            pages_valid: valid.into_iter().map(pages).sum(),
            pages_superseded: pages(PageState::Superseded),
            pages_free: pages(PageState::Free),
            write_amplification: if written > 0.0 { programs as f64 / written } else { 0.0 },
            theory: self.theory.unwrap_or(0.0),
            time: self.film.now().since(self.filled.1).0 as f64,
            read_mean: mean(reads),
            read_p99: tail(reads),
            write_mean: mean(writes),
            write_p99: tail(writes),
            in_flight: self.film.in_flight().len() as f64,
            last_block: block(last.map(|last| last.block)),
            last_page: last.map_or(-1.0, |last| last.index.into()),
            last_touch: last.map_or(0.0, |last| f64::from(last.touch as u8)),
            last_source: block(last.and_then(|last| last.source)),
            last_valid: last.map_or(0.0, |last| self.film.valid(last.block).into()),
        }
    }

    /// Lets the drive and the film finish all work. Returns the number of pages at which they
    /// differ: pages with current data, or free pages, in only one of drive and film. For tests.
    pub fn differences(&mut self) -> usize {
        self.with_engine(|engine, drive, note| {
            engine.drain(drive, note);
            drive.idle_until(drive.now() + Nanos::secs(10));
            note(drive, HostEvent::Worked);
        });
        self.show_all();
        self.drive.catch_up();
        let (nand, geometry) = (self.drive.nand(), &self.design.geometry);
        let differs = |(number, byte): (u32, &u8)| {
            let (block, index) =
                (BlockId(number / geometry.pages_per_block), number % geometry.pages_per_block);
            let (valid, free) =
                (nand.is_valid(geometry.slot(block, index)), index >= nand.written(block));
            let state = byte & 0xf;
            (state == PageState::Free as u8) != free || (1..=3).contains(&state) != valid
        };
        (0..).zip(self.film.pages()).filter(|page| differs(*page)).count()
    }
}

/// Takes the new flash commands from the recorder, with the data that they programmed.
fn take(drive: &SimDevice, recorder: &ObserverHandle<Recorder>, events: &mut VecDeque<Event>) {
    let (nand, mut recorder) = (drive.nand(), recorder.lock());
    let event = |command: &Command, suspended: bool| {
        let programs = matches!(command.kind, CommandKind::Program | CommandKind::CopyBack);
        let slot = nand.geometry().slot(command.block, command.index);
        let entry = if programs { nand.entry(slot) } else { None };
        Event::Command(FlashCommand {
            kind: command.kind,
            cause: command.cause,
            block: command.block.0,
            index: command.index,
            from: command.from.map(|from| from.0),
            data: entry.map(|entry| (entry.lpn.0, entry.stamp)),
            suspended,
        })
    };
    events.extend(recorder.records.drain(..).map(|record| match record {
        Record::Command(command) => event(&command, false),
        Record::Suspension(command) => event(&command, true),
    }));
}

/// Parses the drive of a setup.
fn profile(drive: &str) -> Result<Profile, ProfileError> {
    let Some((spec, toml)) = drive.split_once('\n') else { return setup::parse(drive) };
    let overrides = spec.split_once('?').map_or("", |(_, overrides)| overrides);
    setup::from_toml_with(toml, overrides)
}

/// Checks that the playground can show drives of this structure.
pub(crate) fn suits(design: &Design) -> Result<(), Refusal> {
    let geometry = &design.geometry;
    let say = |text: &str| Err(Refusal(text.into()));
    if geometry.slots_per_page != 1 || geometry.pages_per_slot != 1 || geometry.span != 1 {
        return say(
            "a logical page must be a flash page: leave logical_page_size and page_span out",
        );
    }
    Ok(())
}

/// Checks that the film can show the drive, and that the drive can carry out the workload.
fn check(design: &Design, setup: &Setup) -> Result<(), Refusal> {
    suits(design)?;
    let geometry = &design.geometry;
    let say = |text: &str| Err(Refusal(text.into()));
    if setup.workload.trims > 0.0 && !design.map_survives {
        return say(
            "with trims, persistence.map must be nv-ram: otherwise pages become superseded only once \
                    the drive has recorded their trims",
        );
    }
    let pages = u64::from(geometry.blocks()) * u64::from(geometry.pages_per_block);
    if pages > MAX_PAGES {
        return say("the drive is too large to draw: lower flash.blocks_per_plane");
    }
    if setup.workload.trims > 0.0 && !design.family.trims() {
        return say("this FTL does not support trims: set the share of trims to 0");
    }
    Ok(())
}

/// Opens a workload on a drive.
fn stream(
    drive: &SimDevice,
    setup: &Setup,
    workload: &Workload,
) -> Result<Box<dyn Stream>, Refusal> {
    let info = drive.info();
    if setup.queue_depth == 0 || setup.queue_depth > info.queue_depth {
        return Err(Refusal(format!("the queue depth must be from 1 to {}", info.queue_depth)));
    }
    let page = drive.nand().geometry().logical_page_size;
    let target = Target {
        capacity: info.capacity,
        logical_block: info.logical_block,
        filled: setup.filled,
        seed: setup.seed,
    };
    match synthetic::open(&workload.spec(page), &target).map_err(refusal)?.ios {
        Ios::Endless(generator) => Ok(generator),
        _ => unreachable!("the patterns are endless"),
    }
}
