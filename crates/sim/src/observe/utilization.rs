use std::collections::VecDeque;
use std::ops::Range;

use flashscope_block::{Completion, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sums::Sums;
use super::{Command, CommandKind, Kind, Notice, Observer, Relocation, ratio};
use crate::SimDevice;
use crate::event::class;
use crate::footprint::{Size, fixed, grown};
use crate::nand::Cause;
use crate::sched::Class;

pub(super) const KIND: Kind = Kind {
    name: "utilization",
    summary: "how busy each unit and each bus is, with which commands, and how long commands wait",
    yields: "for each unit the share of time by kind of command and cause, the mean queue length, \
             the mean wait, and the busy time over time; for each serial bus the share of time",
};

/// The maximum number of buckets of a report.
const BUCKETS: usize = 256;

/// The use of the units and buses of a drive over an interval of virtual time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UtilizationReport {
    /// The start of the interval.
    pub from_ns: Nanos,
    /// The end of the interval. Commands that extend beyond either end count with the part inside.
    pub until_ns: Nanos,
    /// The units, in order.
    pub units: Vec<UnitUse>,
    /// The commands of all units by class, in display order; classes without commands are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassUse>,
    /// The serial buses, in order: one per package, or one per gang that shares a bus.
    pub buses: Vec<BusUse>,
    /// The length of each bucket of `busy_by_bucket_ns`. The first bucket begins at `from_ns`. A
    /// bucket that contains `until_ns` ends there.
    pub bucket_ns: Nanos,
}

/// The use of a unit: a part of a package, or a gang, that carries out one command at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitUse {
    /// The first package that the unit belongs to.
    pub package: u32,
    /// The time for which the unit was busy.
    pub busy_ns: Nanos,
    /// The busy time as a share of the interval (0 to 1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub busy_share: f64,
    /// The busy time in each bucket (`bucket_ns`). The values add up to `busy_ns`. Trailing buckets
    /// in which no unit was busy are left out.
    pub busy_by_bucket_ns: Vec<u64>,
    /// The commands of the unit by kind and cause; combinations without commands are left out. When
    /// two planes work as a pair, the time counts for both planes.
    pub commands: Vec<CommandUse>,
    /// The mean number of waiting commands over the interval. By Little's law it is the total
    /// waiting time divided by the length of the interval.
    #[schemars(range(min = 0.0))]
    pub mean_queue_length: f64,
    /// The mean wait of the commands that started in the interval. Null if none started.
    #[schemars(range(min = 0.0))]
    pub mean_wait_ns: Option<f64>,
    /// The longest wait of the commands that started in the interval; 0 if none started.
    pub max_wait_ns: Nanos,
}

/// The commands of one kind and cause on a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandUse {
    /// The kind of command.
    pub kind: CommandKind,
    /// The cause.
    pub cause: Cause,
    /// The number of commands that started in the interval.
    pub count: u64,
    /// The time that the commands took, including waits of reads for the bus.
    pub busy_ns: Nanos,
    /// The busy time as a share of the interval (0 to 1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub busy_share: f64,
}

/// The commands of one class on all units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassUse {
    /// The class of the commands.
    pub class: Class,
    /// The number of commands that started in the interval.
    pub count: u64,
    /// The time that the commands took, over all units, including waits of reads for the bus.
    pub busy_ns: Nanos,
    /// The busy time as a share of the time of all units together (0 to 1, or more if the planes of
    /// a unit work at once).
    #[schemars(range(min = 0.0))]
    pub busy_share: f64,
    /// The mean number of waiting commands over the interval, on all units.
    #[schemars(range(min = 0.0))]
    pub mean_queue_length: f64,
    /// The mean wait of the commands that started in the interval. Null if none started.
    #[schemars(range(min = 0.0))]
    pub mean_wait_ns: Option<f64>,
    /// The longest wait of the commands that started in the interval; 0 if none started.
    pub max_wait_ns: Nanos,
    /// The time for which the commands were suspended. `busy_ns` does not include it.
    pub suspended_ns: Nanos,
}

/// The use of a serial bus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusUse {
    /// The time for which the bus carried data.
    pub busy_ns: Nanos,
    /// The busy time as a share of the interval (0 to 1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub busy_share: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    count: u64,
    time: u128,
}

/// The waits of the commands of a unit or of a class.
#[derive(Debug, Clone, Copy, Default)]
struct Waits {
    /// The commands that started in the interval.
    started: u64,
    /// The time that commands waited within the interval.
    waiting: u128,
    /// The total wait of commands that started in the interval.
    waited: u128,
    longest: Nanos,
}

impl Waits {
    fn add(&mut self, command: &Command, interval: Interval) {
        let Command { at, start, .. } = *command;
        self.waiting += interval.part(at, start);
        if interval.holds(start) {
            let wait = Nanos(start.0.saturating_sub(at.0));
            self.started += 1;
            self.waited += u128::from(wait.0);
            self.longest = self.longest.max(wait);
        }
    }

    /// Adds commands that started in the interval, of which the last waited longest.
    fn add_started(&mut self, count: u32, waited: u128, longest: Nanos) {
        self.started += u64::from(count);
        self.waiting += waited;
        self.waited += waited;
        self.longest = self.longest.max(longest);
    }

    fn mean(&self) -> Option<f64> {
        (self.started > 0).then(|| ratio(self.waited, self.started.into()))
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct ClassTotals {
    busy: u128,
    suspended: u128,
    waits: Waits,
}

/// A part of a command: from its start or resumption to its end or suspension.
#[derive(Debug, Clone)]
struct Piece {
    command: Command,
    begin: Nanos,
    end: Nanos,
    is_last: bool,
}

#[derive(Debug, Clone, Default)]
struct UnitTotals {
    commands: [[Tally; Cause::ALL.len()]; CommandKind::ALL.len()],
    busy: u128,
    /// The time until which the unit is known to be busy.
    end: Nanos,
    /// The end of the last counted part of a suspended command.
    suspended: Nanos,
    waits: Waits,
}

#[derive(Debug, Clone, Copy)]
struct Interval {
    from: Nanos,
    until: Nanos,
}

impl Interval {
    /// Returns how much of `start..end` lies within the interval.
    fn part(self, start: Nanos, end: Nanos) -> u128 {
        let (start, end) = (start.max(self.from), end.min(self.until));
        end.0.saturating_sub(start.0).into()
    }

    fn holds(self, time: Nanos) -> bool {
        self.from <= time && time < self.until
    }
}

#[derive(Debug, Clone)]
struct Totals {
    units: Vec<UnitTotals>,
    classes: [ClassTotals; Class::ALL.len()],
    buses: Vec<u128>,
    /// Busy time, one lane per unit.
    over_time: Sums,
}

impl Totals {
    fn add(&mut self, piece: &Piece, interval: Interval) {
        let Piece { command, begin, end, is_last } = piece;
        let class = &mut self.classes[command.class() as usize];
        let busy = interval.part(*begin, *end);
        class.busy += busy;
        let lane = command.unit as usize;
        let unit = &mut self.units[lane];
        let tally = &mut unit.commands[command.kind as usize][command.cause as usize];
        tally.time += busy;
        // A part before a suspension is counted separately: the commands that its unit executed
        // during the suspension were reported earlier, and `unit.end` already includes them.
        let counted = if *is_last { &mut unit.end } else { &mut unit.suspended };
        let begins = (*begin).max(*counted);
        *counted = (*counted).max(*end);
        unit.busy += interval.part(begins, *end);
        self.over_time.spread(begins..(*end).min(interval.until), lane);
        if !is_last {
            return;
        }
        let on_bus = command.on_bus();
        self.buses[command.bus as usize] += interval.part(on_bus.start, on_bus.end);
        unit.waits.add(command, interval);
        class.waits.add(command, interval);
        tally.count += u64::from(interval.holds(command.start));
    }

    /// Adds the commands of a relocation that lies within the interval.
    fn add_relocation(&mut self, moves: &Relocation) {
        let Relocation { cause, unit: lane, bus, count, at, start, .. } = *moves;
        let times = u128::from(count);
        // The reads entered the queue together, and each program follows its read without a gap.
        let first = u128::from(start.0.saturating_sub(at.0));
        let waited = first * times + u128::from(moves.step().0) * (times * (times - 1) / 2);
        let longest = Nanos(moves.read_start(count - 1).0.saturating_sub(at.0));
        let unit = &mut self.units[lane as usize];
        let kinds = [
            (CommandKind::Read, moves.read, waited, longest),
            (CommandKind::Program, moves.program, 0, Nanos(0)),
        ];
        for (kind, time, waited, longest) in kinds {
            let busy = u128::from(time.0) * times;
            let tally = &mut unit.commands[kind as usize][cause as usize];
            tally.time += busy;
            tally.count += u64::from(count);
            let class = &mut self.classes[class(kind, cause) as usize];
            class.busy += busy;
            class.waits.add_started(count, waited, longest);
            unit.waits.add_started(count, waited, longest);
        }
        let begins = start.max(unit.end);
        unit.end = unit.end.max(moves.done());
        unit.busy += u128::from(unit.end.0.saturating_sub(begins.0));
        self.buses[bus as usize] += 2 * u128::from(moves.transfer.0) * times;
        self.over_time.spread(begins..unit.end, lane as usize);
    }
}

/// Adds up the busy time of units and buses. Unfinished commands are kept separately until the
/// clock passes them. The interval may therefore end at any time of the clock.
pub struct Utilization {
    from: Nanos,
    clock: Nanos,
    totals: Totals,
    pending: Vec<VecDeque<Piece>>,
    /// For each unit, the time at which the last suspended command resumed.
    resumed: Vec<Option<Nanos>>,
    packages: Vec<u32>,
}

impl Utilization {
    /// Returns the memory of this observer for this number of units and buses. A merge or a
    /// collection bounds the number of unfinished commands.
    pub(super) fn footprint(units: u64, buses: u32) -> Size {
        let unit = fixed::<UnitTotals>(2u32)
            + fixed::<VecDeque<Piece>>(1u32)
            + fixed::<Option<Nanos>>(1u32)
            + grown::<Piece>(128u32)
            + fixed::<u32>(1u32);
        unit * units + fixed::<u128>(buses) * 2 + Sums::footprint(units, BUCKETS) * 2
    }

    /// Creates an observer whose interval begins now.
    pub fn new(drive: &SimDevice) -> Self {
        let (units, buses) = (drive.nand().units(), drive.nand().buses());
        let now = flashscope_block::Device::now(drive);
        Utilization {
            from: now,
            clock: now,
            totals: Totals {
                units: vec![UnitTotals::default(); units as usize],
                classes: Default::default(),
                buses: vec![0; buses as usize],
                over_time: Sums::new(now, units as usize, BUCKETS),
            },
            pending: vec![VecDeque::new(); units as usize],
            resumed: vec![None; units as usize],
            packages: (0..units).map(|unit| drive.nand().packages_of(unit).start).collect(),
        }
    }

    /// Returns the report up to `until`, or up to the last completion if that is later.
    pub fn report(&self, until: Nanos) -> UtilizationReport {
        let interval = Interval { from: self.from, until: until.max(self.clock) };
        let mut totals = self.totals.clone();
        for piece in self.pending.iter().flatten() {
            let is_over = piece.end <= self.clock;
            totals.add(piece, if is_over { self.open_interval() } else { interval });
        }
        let length = u128::from(interval.until.0 - interval.from.0);
        let units =
            totals.units.iter().zip(&self.packages).enumerate().map(|(nth, (unit, package))| {
                let over_time = totals.over_time.lane(nth);
                UnitUse { busy_by_bucket_ns: over_time, ..unit_use(unit, *package, length) }
            });
        let bus = |busy: &u128| BusUse { busy_ns: nanos(*busy), busy_share: ratio(*busy, length) };
        UtilizationReport {
            from_ns: interval.from,
            until_ns: interval.until,
            units: units.collect(),
            classes: class_uses(&totals, length),
            buses: totals.buses.iter().map(bus).collect(),
            bucket_ns: totals.over_time.bucket(),
        }
    }
}

fn nanos(time: u128) -> Nanos {
    Nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

fn class_uses(totals: &Totals, length: u128) -> Vec<ClassUse> {
    let whole = length * totals.units.len() as u128;
    let class_use = |(class, totals): (Class, &ClassTotals)| ClassUse {
        class,
        count: totals.waits.started,
        busy_ns: nanos(totals.busy),
        busy_share: ratio(totals.busy, whole),
        mean_queue_length: ratio(totals.waits.waiting, length),
        mean_wait_ns: totals.waits.mean(),
        max_wait_ns: totals.waits.longest,
        suspended_ns: nanos(totals.suspended),
    };
    let classes = Class::ALL.into_iter().zip(&totals.classes).map(class_use);
    classes.filter(|used| used.count > 0 || used.busy_ns.0 > 0).collect()
}

fn unit_use(unit: &UnitTotals, package: u32, length: u128) -> UnitUse {
    let commands = CommandKind::ALL.into_iter().flat_map(|kind| {
        Cause::ALL.iter().map(move |&cause| {
            let Tally { count, time } = unit.commands[kind as usize][cause as usize];
            CommandUse { kind, cause, count, busy_ns: nanos(time), busy_share: ratio(time, length) }
        })
    });
    let commands: Vec<_> = commands.filter(|used| used.count > 0 || used.busy_ns.0 > 0).collect();
    UnitUse {
        package,
        busy_ns: nanos(unit.busy),
        busy_share: ratio(unit.busy, length),
        busy_by_bucket_ns: Vec::new(),
        commands,
        mean_queue_length: ratio(unit.waits.waiting, length),
        mean_wait_ns: unit.waits.mean(),
        max_wait_ns: unit.waits.longest,
    }
}

impl Utilization {
    /// Returns the time from which a command runs: its start, or its last resumption.
    fn begin_of(&self, command: &Command) -> Nanos {
        let resumed = self.resumed[command.unit as usize];
        resumed.filter(|at| *at > command.start).unwrap_or(command.start)
    }

    /// Returns the interval so far, with an end that is not known yet.
    fn open_interval(&self) -> Interval {
        Interval { from: self.from, until: Nanos::MAX }
    }

    fn keep(&mut self, piece: Piece) {
        let unit = piece.command.unit as usize;
        if self.pending[unit].is_empty() && piece.end <= self.clock {
            return self.totals.add(&piece, self.open_interval());
        }
        self.pending[unit].push_back(piece);
        self.settle(unit);
    }

    /// Adds up the commands of a unit that the clock has passed.
    fn settle(&mut self, unit: usize) {
        let interval = self.open_interval();
        while let Some(piece) = self.pending[unit].front().filter(|piece| piece.end <= self.clock) {
            self.totals.add(piece, interval);
            self.pending[unit].pop_front();
        }
    }
}

impl Observer for Utilization {
    fn notices(&mut self, notices: &[Notice]) {
        // Commands that are done by the last of these answers need not be kept.
        let answers = notices.iter().filter_map(|notice| match notice {
            Notice::Request(completion) => Some(completion.completed),
            _ => None,
        });
        self.clock = answers.fold(self.clock, Nanos::max);
        notices.iter().for_each(|notice| self.notice(notice));
    }

    fn needs_commands(&self) -> bool {
        false
    }

    fn relocation(&mut self, relocation: &Relocation) {
        let is_known = self.pending[relocation.unit as usize].is_empty()
            && self.from <= relocation.at
            && relocation.done() <= self.clock;
        if is_known {
            self.totals.add_relocation(relocation);
        } else {
            relocation.commands().for_each(|command| self.command(&command));
        }
    }

    fn command(&mut self, command: &Command) {
        let begin = self.begin_of(command);
        self.keep(Piece { command: *command, begin, end: command.done, is_last: true });
    }

    fn suspension(&mut self, command: &Command, time: Range<Nanos>) {
        let interval = self.open_interval();
        let class = &mut self.totals.classes[command.class() as usize];
        class.suspended += interval.part(time.start, time.end);
        let begin = self.begin_of(command);
        self.keep(Piece { command: *command, begin, end: time.start, is_last: false });
        self.resumed[command.unit as usize] = Some(time.end);
    }

    fn request(&mut self, completion: &Completion) {
        self.clock = self.clock.max(completion.completed);
    }

    fn restart(&mut self, now: Nanos) {
        (0..self.pending.len()).for_each(|unit| self.settle(unit));
        (self.from, self.clock) = (now, self.clock.max(now));
        let fresh =
            |unit: &mut UnitTotals| *unit = UnitTotals { end: unit.end, ..Default::default() };
        self.totals.units.iter_mut().for_each(fresh);
        self.totals.classes = Default::default();
        self.totals.buses.fill(0);
        self.totals.over_time.restart(now);
    }

    fn resume(&mut self, drive: &SimDevice) {
        *self = Utilization::new(drive);
    }
}
