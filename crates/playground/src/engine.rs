use flashscope_block::{Completion, Device, Io, Nanos};
use flashscope_sim::SimDevice;
use flashscope_workload::Stream;

/// A stream of IOs on a drive, with a constant number of IOs in flight, in the order in which
/// `flashscope_measure::execute` submits them.
pub(crate) struct Engine {
    stream: Box<dyn Stream>,
    depth: u32,
    /// The time from which the next IOs follow, and their number: at first all IOs in flight, later
    /// the IO that follows the last answer.
    due: Option<(Nanos, u32)>,
}

/// An event of the engine, in order.
pub(crate) enum HostEvent<'a> {
    /// An IO is about to be submitted.
    Submitting(&'a Io),
    /// The drive has worked: on a new IO, or by itself.
    Worked,
    /// An IO was answered.
    Answered(&'a Completion),
}

impl Engine {
    pub(crate) fn new(stream: Box<dyn Stream>, depth: u32) -> Engine {
        Engine { stream, depth, due: None }
    }

    /// Submits the IOs that are due, and advances to the next answer. Returns false
    /// at the end of the stream. `note` receives each event, with the drive at that moment.
    pub(crate) fn step(
        &mut self,
        drive: &mut SimDevice,
        note: &mut dyn FnMut(&SimDevice, HostEvent<'_>),
    ) -> bool {
        let (previous, ios) = self.due.unwrap_or((drive.now(), self.depth));
        (0..ios).for_each(|_| self.submit(drive, previous, note));
        let Some(completion) = drive.complete(Nanos::MAX) else { return false };
        note(drive, HostEvent::Answered(&completion));
        self.due = Some((completion.completed, 1));
        true
    }

    /// Completes the IOs in flight without submitting more.
    pub(crate) fn drain(
        &mut self,
        drive: &mut SimDevice,
        note: &mut dyn FnMut(&SimDevice, HostEvent<'_>),
    ) {
        while let Some(completion) = drive.complete(Nanos::MAX) {
            note(drive, HostEvent::Answered(&completion));
        }
        self.due = None;
    }

    fn submit(
        &mut self,
        drive: &mut SimDevice,
        previous: Nanos,
        note: &mut dyn FnMut(&SimDevice, HostEvent<'_>),
    ) {
        if let Some(io) = self.stream.next(previous) {
            note(drive, HostEvent::Submitting(&io));
            drive.submit(&io);
            note(drive, HostEvent::Worked);
        }
    }
}
