//! Determines the spare space, on which the steady state depends.

use anyhow::{Context, Result, bail};
use flashscope_block::{Bytes, Device};
use flashscope_measure::grid::flash_inside;
use flashscope_sim::setup;
use flashscope_workload::steady_fill::{MAX_SPARE, MIN_SPARE, SpareSpace};
use flashscope_workload::uflip::Setup;

/// The assumed page size of the mapping of a real drive.
const PAGE: Bytes = Bytes::kib(4);

/// Returns the spare space of a drive: from the profile of a simulated drive or, for other drives
/// or if `inside` is
/// given, from the capacity of the flash.
///
/// # Errors
/// If the drive does not map pages, has an impossible amount of spare space, or is used only in
/// part.
pub(super) fn spare_space(
    device: &dyn Device,
    inside: Option<Bytes>,
    setup: &Setup,
) -> Result<SpareSpace> {
    let info = device.info();
    let whole = info.capacity.round_down(info.logical_block);
    if setup.target_offset != Bytes(0) || setup.target_size != whole {
        bail!(
            "--state steady: only the whole drive has a steady state: remove --target-offset and --target-size, \
             or choose another --state"
        );
    }
    if let (Some(profile), None) = (info.name.strip_prefix("sim:"), inside) {
        let layout = setup::parse(profile)?.layout()?;
        let share = layout.spare_share().context(
            "--state steady: the drive's FTL does not map pages, so no order of writes is known that leads \
             to its steady state: choose --state random",
        )?;
        return Ok(SpareSpace { page: Bytes(layout.logical_page_size().into()), share });
    }
    let inside = flash_inside(device, inside);
    #[allow(clippy::cast_precision_loss, reason = "sizes are below 2^53")]
    let share = inside.0 as f64 / info.capacity.0 as f64 - 1.0;
    if !(MIN_SPARE..=MAX_SPARE).contains(&share) {
        bail!(
            "--capacity-inside {inside}: the flash of `{}` must be 1.001 to 11 times its capacity, {}",
            info.name,
            info.capacity
        );
    }
    Ok(SpareSpace { page: PAGE.max(info.logical_block), share })
}
