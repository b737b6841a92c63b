//! The fast path of an IO of one logical page while no other request is in flight. The IO bypasses
//! the list of requests in flight and all queues. The general path gives the same answers at the
//! same times.

use flashscope_block::{Completion, Io, MOVED_STREAM, Nanos, Op};

use super::SimDevice;
use super::groups::Groups;
use crate::event::Notice;
use crate::ftl::{Ftl, Slice};
use crate::nand::Lpn;
use crate::setup::{HostInterface, Layout};

/// Returns true if a drive has a fast path. Such a drive has no buffer, no zones, no queues of
/// flash commands and no groups. A request for one of its logical pages is not split.
pub(super) fn is_in(interface: &HostInterface, layout: &Layout, groups: Option<&Groups>) -> bool {
    let geometry = &layout.geometry;
    let page = u64::from(geometry.logical_page_size);
    let largest = interface.largest_request.0;
    !layout.cache.is_some()
        && layout.zones.is_none()
        && layout.queues.is_none()
        && groups.is_none()
        && geometry.element_page() <= page
        && page.is_multiple_of(interface.logical_block.0)
        && (largest == 0 || page <= largest)
}

impl SimDevice {
    /// Returns the slice of an IO if it may take the fast path.
    #[inline]
    pub(super) fn plain_slice(&self, io: &Io) -> Option<Slice> {
        let page = self.page_size.value();
        let whole = io.len.0 == page && self.page_size.remainder(io.offset.0) == 0;
        let lane = self.has_fast_path && self.nand.is_plain_now();
        let known = matches!(io.op, Op::Read | Op::Write) && io.end() <= self.info.capacity;
        if !(lane && whole && known) || self.expects_power_cuts || self.interface.in_flight() > 0 {
            return None;
        }
        Some(Slice {
            lpn: Lpn(u32::try_from(self.page_size.quotient(io.offset.0)).ok()?),
            start: 0,
            len: u32::try_from(page).ok()?,
            long: page >= self.long,
            zero: false,
            stream: io.stream,
        })
    }

    /// Executes an IO that covers `slice`, and advances the clock to its answer.
    #[inline]
    pub(super) fn run_plain(&mut self, io: &Io, slice: Slice) -> Completion {
        let submitted = self.now.max(io.at);
        self.quiet_until = Nanos(0);
        self.submitted += 1;
        let command = self.interface.receive_command(submitted);
        self.nand.next_request();
        let (completed, result) = match io.op {
            Op::Write => {
                let arrived = self.interface.receive_data(io.len);
                match self.ftl.write_fetched(&mut self.nand, slice, arrived) {
                    Ok(done) => {
                        self.host_pages_written += 1;
                        self.host_pages_moved += u64::from(io.stream == MOVED_STREAM);
                        self.host_bytes_written += io.len.0;
                        (done.max(command), Ok(()))
                    }
                    Err(errno) => (arrived, Err(errno)),
                }
            }
            _ => match self.ftl.read(&mut self.nand, slice, command) {
                Ok(done) => {
                    self.host_pages_read += 1;
                    (self.interface.send_alone(done, done.max(command), io.len), Ok(()))
                }
                Err(errno) => (command, Err(errno)),
            },
        };
        self.now = self.now.max(completed);
        let completion = Completion { io: *io, submitted, completed, result };
        self.nand.notify(|| Notice::Request(completion));
        completion
    }
}
