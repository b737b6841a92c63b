use std::fs::File;
use std::io;

use super::{Controller, Drive, LogId, LogPage};
use crate::guard::Identity;
use crate::nvme::{self, Admin, Failed};

/// An NVMe drive, open for reading.
pub(super) struct Passthrough(File);

impl Passthrough {
    /// Fails where the node of the drive leads to something else.
    pub(super) fn open(drive: &Drive) -> io::Result<Passthrough> {
        let file = File::open(&drive.node)?;
        if Identity::of(&file)? != Identity::Block(drive.number) {
            return Err(io::Error::other("its node in /dev leads to something else"));
        }
        Ok(Passthrough(file))
    }
}

impl Controller for Passthrough {
    fn get_log_page(&self, log: LogId, page: &mut LogPage) -> Result<(), Failed> {
        nvme::Controller::send(&&self.0, Admin::GetLogPage { log: log as u8 }, page)
    }
}
