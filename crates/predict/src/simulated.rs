//! Runs the requests of a prediction on the simulator, for comparison.

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_model::trace::Total;
use flashscope_sim::budget::Budget;
use flashscope_sim::{Profile, ProfileError, SimDevice};

use super::pools::slots_per_page;
use super::{Access, Request};

/// A simulated drive that executes requests one at a time.
pub struct SimulatedDrive {
    drive: SimDevice,
    /// Bytes of a page of the requests.
    page_size: u64,
    /// Logical pages of the drive per page of the requests.
    logical_pages: f64,
    /// Logical pages in a flash page.
    slots_per_page: f64,
}

impl SimulatedDrive {
    /// Creates the drive and writes every page once, in order.
    ///
    /// # Errors
    /// If a field of the profile is invalid; the error names the first such field.
    pub fn new(profile: &Profile) -> Result<SimulatedDrive, ProfileError> {
        SimulatedDrive::within(profile, &Budget::default())
    }

    /// Does the same as [`SimulatedDrive::new`], within a memory budget.
    ///
    /// # Errors
    /// If a field of the profile is invalid, or the budget does not suffice.
    pub fn within(profile: &Profile, memory: &Budget) -> Result<SimulatedDrive, ProfileError> {
        let logical_page = u64::from(profile.design()?.logical_page_size());
        SimulatedDrive::for_pages(profile, memory, logical_page)
    }

    /// Does the same as [`SimulatedDrive::within`] for requests in pages of `page_size` bytes, at
    /// least 1.
    ///
    /// # Errors
    /// See [`SimulatedDrive::within`].
    #[allow(clippy::cast_precision_loss, reason = "pages are far below 2^53 bytes")]
    pub fn for_pages(
        profile: &Profile,
        memory: &Budget,
        page_size: u64,
    ) -> Result<SimulatedDrive, ProfileError> {
        let design = profile.design()?;
        let logical_pages = page_size as f64 / f64::from(design.logical_page_size());
        let slots_per_page = slots_per_page(&design);
        let drive = SimDevice::within("sim:predicted", profile, memory)?;
        let capacity = drive.info().capacity.0;
        let mut simulated = SimulatedDrive { drive, page_size, logical_pages, slots_per_page };
        // `FILL`, rounded down to a multiple of the page size.
        let step = (FILL / page_size).max(1) * page_size;
        let mut offset = 0;
        while offset < capacity {
            simulated.issue(Op::Write, offset, step.min(capacity - offset));
            offset += step;
        }
        Ok(simulated)
    }

    /// Executes the next request of the host.
    pub fn request(&mut self, request: Request) {
        let op = match request.access() {
            Access::Write => Op::Write,
            Access::Read => Op::Read,
            Access::Trim => Op::Trim,
        };
        let (page, pages) = (u64::from(request.page), u64::from(request.pages()));
        let offset = page * self.page_size;
        let len = (pages * self.page_size).min(self.drive.info().capacity.0.saturating_sub(offset));
        if len > 0 {
            self.issue(op, offset, len);
        }
    }

    /// Returns the totals over all requests so far, including the fill, in pages of the requests,
    /// and the simulated time.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are below 2^53"
    )]
    pub fn total(&self) -> (Total, Nanos) {
        let counters = self.drive.counters();
        let programs = &counters.flash.programs;
        let host = programs.host as f64 * self.slots_per_page;
        let others = (programs.total() - programs.host) as f64 * self.slots_per_page;
        // A write of less than a flash page occupies a whole page.
        let unused = (host - counters.host_pages_written as f64).max(0.0);
        let total = Total {
            pages: (counters.host_pages_written as f64 / self.logical_pages) as u64,
            erasures: counters.flash.erases.total() as f64,
            copies: (others + unused) / self.logical_pages,
        };
        (total, self.drive.now())
    }

    fn issue(&mut self, op: Op, offset: u64, len: u64) {
        let (offset, len, at) = (Bytes(offset), Bytes(len), self.drive.now());
        self.drive.round_trip(&Io { op, stream: 0, offset, len, data: Data::Random, at });
    }
}

/// The size of the writes that fill the drive at the start, in bytes.
const FILL: u64 = 1 << 20;
