//! The balance of background cleaning and idle time.
//!
//! A drive that cleans in the background keeps more blocks free while its packages are idle, and
//! therefore moves more pages. If the idle time does not suffice, the number of free blocks falls
//! until the cleaning fits into the idle time, or until the drive cleans in the foreground. The
//! host issues one request at a time, as in [`crate::SimulatedDrive`], so a package is idle while
//! other packages work on requests. docs/models.md derives the balance, and lists its errors.

use flashscope_sim::setup::{HostInterface, Layout, Transfer};
use flashscope_workload::synthetic::Law;

use super::PoolLaw;

/// The number of iterations, enough for the time of a request and the waits for background work to
/// converge.
const ROUNDS: u32 = 100;

/// The write amplification of a pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// Without idle time: the drive cleans when it has to.
    pub(super) without: f64,
    /// With any amount of idle time.
    pub(super) with: f64,
}

/// The times of the work of a package, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Costs {
    /// Write of a page of the host.
    write: f64,
    /// Read of a page of the host.
    read: f64,
    /// Move of a page by background cleaning, which cannot be interrupted.
    step: f64,
    /// Erase of a block.
    erase: f64,
    /// Write of the summary of a block, divided by the pages of the block.
    summary: f64,
    /// The number of pages of a block. Unlike the other fields, not a time.
    slots: f64,
    /// Transfer of a request over the host interface.
    link: f64,
}

impl Costs {
    #[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
    fn of(law: &Law, layout: &Layout, interface: &HostInterface) -> Costs {
        let time = |nanos: flashscope_block::Nanos| nanos.0 as f64;
        let timing = &layout.timing;
        let (read, program) = (time(timing.page_read), time(timing.page_program));
        let transfer = time(timing.page_transfer);
        let slots = f64::from(layout.slots_per_block());
        let per_byte = time(interface.transfer_per_kib) / 1024.0;
        let crosses = match layout.transfer {
            Transfer::InterPlane => 2.0 * transfer,
            Transfer::CopyBack => 0.0,
        };
        Costs {
            write: transfer + program,
            read: read + transfer,
            step: read + crosses + program,
            erase: time(timing.block_erase),
            summary: f64::from(layout.geometry.summary_pages)
                * (time(timing.summary_transfer) + program)
                / slots,
            slots,
            link: time(interface.request_overhead)
                + time(interface.command_time)
                + law.size.0 as f64 * per_byte,
        }
    }

    /// Returns the cleaning time per page that the host writes.
    fn cleaning(&self, amplification: f64) -> f64 {
        (amplification - 1.0) * (self.step + self.summary) + amplification * self.erase / self.slots
    }

    /// Returns the write amplification for which the cleaning time `time` suffices: the inverse of
    /// [`Costs::cleaning`].
    fn amplification(&self, time: f64) -> f64 {
        let moved = self.step + self.summary;
        (time + moved) / (moved + self.erase / self.slots)
    }

    /// Returns the mean remaining time of a step of background cleaning that is in progress at a
    /// random time.
    fn residual(&self, amplification: f64) -> f64 {
        let squares = (amplification - 1.0) * self.step.powi(2)
            + amplification / self.slots * self.erase.powi(2);
        squares / (2.0 * self.cleaning(amplification))
    }
}

/// A pool under a load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LoadedPool {
    bounds: Bounds,
    /// The share of the requests that access the pool.
    visits: f64,
    /// The requests for each page that the host writes to the pool.
    requests: f64,
}

/// The load of a drive that executes requests one at a time.
struct Load<'l> {
    costs: Costs,
    law: &'l Law,
    pools: Vec<LoadedPool>,
    /// The number of pages that a request accesses in each pool.
    run: f64,
    /// The number of pools that a request accesses.
    fan: f64,
}

impl Load<'_> {
    /// Returns the time for which the package of a pool works on requests, for each page that the
    /// host writes to it.
    fn busy(&self) -> f64 {
        let reads = self.law.reads / (1.0 - self.law.reads - self.law.trims);
        self.costs.write + self.costs.summary + reads * self.costs.read
    }

    /// Returns the mean time for which a request waits for a step of background cleaning, if
    /// requests take `request` on average. If the last request accessed the same pool, a step has
    /// just begun.
    fn wait(&self, pool: &LoadedPool, amplification: f64, request: f64) -> f64 {
        let idle = pool.requests * request - self.busy();
        let at_work = (self.costs.cleaning(amplification) / idle.max(1.0)).min(1.0);
        let whole = (self.costs.step - self.costs.link).max(0.0);
        let residual = self.costs.residual(amplification);
        let one = pool.visits * whole + (1.0 - pool.visits) * residual;
        // A request of several pools waits for the last of them.
        let last = if self.fan > 1.0 { whole * self.fan / (self.fan + 1.0) } else { 0.0 };
        at_work * one.max(last)
    }

    /// Returns the mean time of a request.
    fn request(&self, amplifications: &[f64], before: f64) -> f64 {
        let of = |(pool, amplification): (&LoadedPool, &f64)| {
            let share = pool.visits / self.fan;
            share * self.wait(pool, *amplification, before)
        };
        let wait: f64 = self.pools.iter().zip(amplifications).map(of).sum();
        let (reads, trims) = (self.law.reads, self.law.trims);
        let flash = reads * self.costs.read + (1.0 - reads - trims) * self.costs.write;
        let alone = self.costs.link + self.run * flash + (1.0 - trims) * wait;
        // A request also waits for foreground cleaning, until the package that needs the most time
        // has finished.
        let busy = self.busy();
        let needed = self
            .pools
            .iter()
            .map(|pool| (busy + self.costs.cleaning(pool.bounds.without)) / pool.requests);
        needed.fold(alone, f64::max)
    }

    /// Returns the write amplification of each pool.
    fn balance(&self) -> Vec<f64> {
        let mut found: Vec<f64> = self.pools.iter().map(|pool| pool.bounds.with).collect();
        let mut request = self.costs.link + self.run * self.costs.write;
        for _ in 0..ROUNDS {
            request = f64::midpoint(request, self.request(&found, request));
            for (pool, amplification) in self.pools.iter().zip(&mut found) {
                let idle = pool.requests * request - self.busy();
                let fits = self.costs.amplification(idle);
                *amplification = fits.min(pool.bounds.with).max(pool.bounds.without);
            }
        }
        found
    }
}

/// Returns the write amplification of each pool; `None` if the idle time of the pools cannot be
/// derived.
pub(super) fn balance(
    law: &Law,
    pools: &[PoolLaw],
    bounds: &[Bounds],
    layout: &Layout,
    interface: &HostInterface,
) -> Option<Vec<f64>> {
    let alone = layout.lanes_per_pool == 1
        && layout.pools == layout.geometry.elements()
        && layout.wiring.gang == 1
        && layout.queues.is_none();
    if !alone || !layout.timed {
        return None;
    }
    let writes = 1.0 - law.reads - law.trims;
    #[allow(clippy::cast_precision_loss, reason = "sizes are below 2^53")]
    let pages = (law.size.0 as f64 / f64::from(layout.logical_page_size())).max(1.0);
    let run = pools.first()?.run;
    let loaded = pools.iter().zip(bounds).map(|(pool, bounds)| LoadedPool {
        bounds: *bounds,
        visits: pool.writes * pages / run,
        requests: 1.0 / (writes * pages * pool.writes),
    });
    let costs = Costs::of(law, layout, interface);
    Some(Load { costs, law, pools: loaded.collect(), run, fan: pages / run }.balance())
}
