//! Power cuts, and what a drive does when the power comes back.

use flashscope_block::{Errno, Nanos};

use super::SimDevice;
use super::turns::Turns;
use crate::ftl::{Ftl, Recovery};
use crate::nand::later;

impl SimDevice {
    /// Starts to log changes, so that [`SimDevice::cut_power`] can revert them. Call this before
    /// the first write.
    pub fn expect_power_cuts(&mut self) {
        self.expects_power_cuts = true;
        self.nand.expect_power_cuts();
        self.ftl.expect_power_cuts();
        self.cache.expect_power_cuts();
    }

    /// Cuts the power now and restores it immediately. Requests in flight get no answer. Flash
    /// commands that have not begun are dropped, and commands in progress leave unreadable pages. A
    /// protected buffer is written out. Afterwards the clock is at the end of the recovery.
    ///
    /// # Errors
    /// `EIO` if the flash refuses a command, `ENOSPC` or `EROFS` if no space is left.
    ///
    /// # Panics
    /// If the drive does not expect power cuts.
    pub fn cut_power(&mut self) -> Result<Recovery, Errno> {
        self.cut_power_and_again(&[])
    }

    /// Cuts the power like [`SimDevice::cut_power`], and cuts it again during the recovery: after
    /// the first of these times, then after the second during the next recovery, and so on. A
    /// recovery that finishes earlier ends the series. A protected buffer keeps its data until all
    /// of it is written out.
    ///
    /// # Errors
    /// The errors of [`SimDevice::cut_power`].
    ///
    /// # Panics
    /// If the drive does not expect power cuts.
    pub fn cut_power_and_again(&mut self, after: &[Nanos]) -> Result<Recovery, Errno> {
        assert!(self.expects_power_cuts, "call expect_power_cuts on the new drive first");
        self.heed();
        self.interface.reset(self.now);
        self.turns = self.turns.take().map(|_| Turns::default());
        let cut = self.now;
        self.cache.settle(&self.nand, cut);
        let mut recovery = self.recover(cut)?;
        for wait in after {
            let again = later(self.now, *wait);
            if again >= recovery.done {
                break;
            }
            self.now = again;
            recovery = self.recover(cut)?;
        }
        self.cache.clear();
        self.recover_zones(recovery.done);
        recovery.done = self.nand.resume_queues(recovery.done);
        self.now = recovery.done;
        self.quiet_until = self.now;
        self.nand.deliver();
        Ok(recovery)
    }

    /// Recovers after a power cut that just ended. `cut` is the time of the first cut of a series.
    fn recover(&mut self, cut: Nanos) -> Result<Recovery, Errno> {
        let Self { cache, ftl, nand, now, .. } = self;
        ftl.expect_cut(nand, *now);
        nand.cut_power(*now);
        let mut recovery = ftl.recover(nand, *now)?;
        recovery.done = cache.write_out(ftl, nand, cut, recovery.done)?;
        Ok(recovery)
    }
}
