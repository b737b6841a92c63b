use std::ops::Range;

use flashscope_block::Nanos;
use flashscope_sim::observe::{Command, Observer};

/// A flash command, or its suspension.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Record {
    Command(Command),
    Suspension(Command),
}

/// Keeps the flash commands of a drive in order.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) records: Vec<Record>,
}

impl Observer for Recorder {
    fn command(&mut self, command: &Command) {
        self.records.push(Record::Command(*command));
    }

    fn suspension(&mut self, command: &Command, _time: Range<Nanos>) {
        self.records.push(Record::Suspension(*command));
    }
}
