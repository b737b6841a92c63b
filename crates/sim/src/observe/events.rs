use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

use flashscope_block::{Completion, Device, Nanos, Op};

use super::{Command, Kind, Observer};
use crate::SimDevice;
use crate::nand::later;

pub(super) const KIND: Kind = Kind {
    name: "events",
    summary: "every flash command and every request in a time window",
    yields: "a file in Chrome's trace event format, which Perfetto (ui.perfetto.dev) and \
             chrome://tracing open, with a process for each package and a thread for each unit",
};

/// The period in which events are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The time from attaching or restarting the observer to the start of the window.
    pub after: Nanos,
    /// The length of the window.
    pub length: Nanos,
}

/// The process number of the host; the numbers of the packages follow.
const HOST: u32 = 1;

/// Writes an event trace in the [trace event format]: an object with `traceEvents`.
///
/// Each flash command is a complete event (`X`) of its unit's thread in its package's process. Its
/// `together` counts the commands that the unit carried out at once, in several planes. A
/// suspension is a complete event within that of the command, and the commands carried out
/// meanwhile lie within the suspension. The wait of a command in a queue is a pair of asynchronous
/// events (`b`, `e`) named after its class. Each request is a pair of asynchronous events (`b`,
/// `e`) of the host's process. Times are fractional microseconds of virtual time. Every event that
/// overlaps the window is written in full as soon as it is known. Events are therefore not ordered
/// by time.
///
/// Events are written through a buffer of constant size. [`Events::finish`], or dropping the
/// observer, closes the trace.
///
/// [trace event format]: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
pub struct Events<W: Write + Send> {
    out: BufWriter<W>,
    window: Window,
    /// The window on the clock of the drive; `None` until the first [`Observer::restart`].
    range: Option<(Nanos, Nanos)>,
    units: Vec<Track>,
    requests: u64,
    waits: u64,
    /// The first error of `out`; nothing is written afterwards.
    error: Option<io::Error>,
    finished: bool,
    line: String,
}

/// The threads on which the commands of a unit appear.
struct Track {
    process: u32,
    /// The end of the last command on the unit's thread.
    end: Nanos,
    /// True if the extra thread is named. It shows the second plane of a pair, whose commands
    /// overlap those of the first.
    paired: bool,
}

impl<W: Write + Send> Events<W> {
    /// Creates an observer whose window counts from now.
    pub fn new(drive: &SimDevice, out: W, window: Window) -> Self {
        let mut events = Events::waiting(drive, out, window);
        events.restart(drive.now());
        events
    }

    /// Creates an observer that records nothing until [`Observer::restart`], from which the window
    /// counts.
    pub fn waiting(drive: &SimDevice, out: W, window: Window) -> Self {
        let nand = drive.nand();
        let tracks = (0..nand.units()).map(|unit| {
            let process = HOST + 1 + nand.packages_of(unit).start;
            Track { process, end: Nanos(0), paired: false }
        });
        let mut events = Events {
            out: BufWriter::new(out),
            window,
            range: None,
            units: tracks.collect(),
            requests: 0,
            waits: 0,
            error: None,
            finished: false,
            line: String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"),
        };
        events.name_process(HOST, "host");
        for unit in 0..nand.units() {
            let packages = nand.packages_of(unit);
            let process = HOST + 1 + packages.start;
            if unit == 0 || nand.packages_of(unit - 1) != packages {
                let name = match packages.len() {
                    1 => format!("package {}", packages.start),
                    _ => format!("gang of packages {} to {}", packages.start, packages.end - 1),
                };
                events.next_event();
                events.name_process(process, &name);
            }
            events.next_event();
            events.name_thread(process, 2 * unit, &format!("unit {unit}"));
        }
        events.write_line();
        events
    }

    /// Ends the trace and flushes the buffer. Nothing is recorded afterwards.
    ///
    /// # Errors
    /// Returns the first error of writing.
    pub fn finish(&mut self) -> io::Result<()> {
        if !self.finished {
            self.finished = true;
            self.line.push_str("\n]}\n");
            self.write_line();
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn next_event(&mut self) {
        self.line.push_str(",\n");
    }

    fn write_line(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(self.line.as_bytes()).err();
        }
        self.line.clear();
    }

    fn name_process(&mut self, process: u32, name: &str) {
        self.put(format_args!(
            r#"{{"ph":"M","name":"process_name","pid":{process},"tid":0,"args":{{"name":"{name}"}}}}"#
        ));
    }

    fn name_thread(&mut self, process: u32, thread: u32, name: &str) {
        self.put(format_args!(
            r#"{{"ph":"M","name":"thread_name","pid":{process},"tid":{thread},"args":{{"name":"{name}"}}}}"#
        ));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.line.write_fmt(text);
    }

    /// Returns true if an event from `start` to `end` overlaps the window.
    fn wants(&self, start: Nanos, end: Nanos) -> bool {
        let within = |(from, until): (Nanos, Nanos)| start < until && (end > from || start >= from);
        !self.finished && self.error.is_none() && self.range.is_some_and(within)
    }

    /// Returns the thread for a command: the thread of its unit, or the extra thread while the
    /// other plane of the pair is busy.
    fn thread(&mut self, command: &Command) -> u32 {
        let unit = command.unit;
        let track = &mut self.units[unit as usize];
        // Commands during a suspension are within the suspended command, on the same thread.
        if command.start >= track.end || command.suspended > Nanos(0) {
            track.end = command.done;
            return 2 * unit;
        }
        if !std::mem::replace(&mut track.paired, true) {
            let process = track.process;
            self.next_event();
            self.name_thread(process, 2 * unit + 1, &format!("unit {unit}, second plane"));
        }
        2 * unit + 1
    }
}

const fn op_name(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    }
}

/// A time in microseconds.
struct Micros(Nanos);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0.0 / 1000, self.0.0 % 1000)
    }
}

impl<W: Write + Send> Events<W> {
    /// Writes the wait of a command in its queue.
    fn wait(&mut self, command: &Command) {
        let Command { unit, block, index, at, start, .. } = *command;
        if start <= at || !self.wants(at, start) {
            return;
        }
        let (id, process, thread) = (self.waits, self.units[unit as usize].process, 2 * unit);
        let (class, block) = (command.class().name(), block.0);
        self.waits += 1;
        for (phase, at) in [('b', at), ('e', start)] {
            let at = Micros(at);
            self.next_event();
            self.put(format_args!(
                r#"{{"ph":"{phase}","name":"{class}","cat":"queue","id":{id},"pid":{process},"tid":{thread},"ts":{at},"args":{{"unit":{unit},"block":{block},"page":{index}}}}}"#
            ));
        }
        self.write_line();
    }
}

impl<W: Write + Send> Observer for Events<W> {
    fn command(&mut self, command: &Command) {
        let Command { kind, cause, unit, block, index, at, start, done, .. } = *command;
        self.wait(command);
        if !self.wants(start, done) {
            return;
        }
        let thread = self.thread(command);
        let process = self.units[unit as usize].process;
        let (name, cause) = (kind.name(), cause.name());
        let (ts, dur) = (Micros(start), Micros(done - start));
        let (block, waited) = (block.0, start.0.saturating_sub(at.0));
        let together = match command.together {
            0 | 1 => String::new(),
            together => format!(r#","together":{together}"#),
        };
        self.next_event();
        self.put(format_args!(
            r#"{{"ph":"X","name":"{name}","cat":"{cause}","pid":{process},"tid":{thread},"ts":{ts},"dur":{dur},"args":{{"block":{block},"page":{index},"cause":"{cause}","waited_ns":{waited}{together}}}}}"#
        ));
        self.write_line();
    }

    fn suspension(&mut self, command: &Command, time: Range<Nanos>) {
        if !self.wants(time.start, time.end) {
            return;
        }
        let (thread, process) = (2 * command.unit, self.units[command.unit as usize].process);
        let (ts, dur) = (Micros(time.start), Micros(time.end - time.start));
        let (block, page) = (command.block.0, command.index);
        self.next_event();
        self.put(format_args!(
            r#"{{"ph":"X","name":"suspended","cat":"suspension","pid":{process},"tid":{thread},"ts":{ts},"dur":{dur},"args":{{"block":{block},"page":{page}}}}}"#
        ));
        self.write_line();
    }

    fn request(&mut self, completion: &Completion) {
        let Completion { io, submitted, completed, result } = completion;
        if !self.wants(*submitted, *completed) {
            return;
        }
        let (id, name, stream) = (self.requests, op_name(io.op), io.stream);
        let (offset, len) = (io.offset.0, io.len.0);
        let errno = result.map_or_else(|errno| errno.0, |()| 0);
        self.requests += 1;
        for (phase, at) in [('b', *submitted), ('e', *completed)] {
            let at = Micros(at);
            self.next_event();
            self.put(format_args!(
                r#"{{"ph":"{phase}","name":"{name}","cat":"request","id":{id},"pid":{HOST},"tid":0,"ts":{at},"args":{{"offset":{offset},"len":{len},"stream":{stream},"errno":{errno}}}}}"#
            ));
        }
        self.write_line();
    }

    fn restart(&mut self, now: Nanos) {
        let from = later(now, self.window.after);
        self.range = Some((from, later(from, self.window.length)));
    }
}

impl<W: Write + Send> Drop for Events<W> {
    fn drop(&mut self) {
        // Callers that handle errors call `finish` before they drop the observer.
        let _ = self.finish();
    }
}
