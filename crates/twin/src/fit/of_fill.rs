//! A drive that shows what a fill sweep does.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, Nanos};
use flashscope_sim::{Profile, profile};

use super::document::{Told, Twin};
use super::{FillFit, FillModel};

/// The share of the flash that holds no data where as much is written as at the fullest level.
#[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
pub(super) fn spare(model: &FillModel, fullest: Bytes) -> f64 {
    (1.0 - fullest.0 as f64 / model.flash_bytes).clamp(0.001, 0.95)
}

/// Blocks of each package that hold no data, whatever is cleaned: those kept free, and the one that is written to.
const KEPT: f64 = 3.0;

/// Parts of the time of a page of the host that its transfer over the serial bus takes, at most.
const BUS: f64 = 0.1;

/// The twin of a fill sweep: with the structure of `like`, or of a drive with eight packages and blocks of 1024 pages.
pub(super) fn complete(twin: &mut Twin, fill: &FillFit, like: Option<&Profile>) {
    let fullest = fill.levels.last().map_or(Bytes(0), |level| level.fill);
    let like = like.cloned().unwrap_or_else(|| large(fullest));
    let drive = drive(&like, fill.best(), fullest);
    let base = drive.fields();
    let draw = |model: &FillModel| -> BTreeMap<String, String> {
        let drawn = self::drive(&like, model, fullest).fields().into_iter().zip(&base);
        drawn.filter(|(drawn, base)| drawn != *base).map(|(drawn, _)| drawn).collect()
    };
    twin.draws = fill.draws.iter().map(draw).collect();
    twin.drive = format!("a drive of {fullest}");
    let others = fill.policies.iter().skip(1).filter(|fit| fit.fits_as_well);
    twin.choices = vec![Told {
        field: "cleaning.policy".into(),
        value: drive.cleaning.policy.clone(),
        as_well: others.map(|fit| fit.model.policy.clone()).collect(),
    }];
    twin.measure_next = vec![
        "response times: `flashscope bench DRIVE --only granularity,locality,partitioning`".into(),
        "which policy cleans: skewed writes tell (`zipf` beside `uniform`), a fill sweep does not"
            .into(),
    ];
    twin.profile = text(twin, fill, &drive);
}

fn text(twin: &Twin, fill: &FillFit, drive: &Profile) -> String {
    let range = fill.flash_bytes;
    let sources: String = twin.sources.iter().map(|name| format!("#   {name}\n")).collect();
    let (percent, kappa) = (100.0 * twin.confidence, fill.kappa);
    let comment = |field: &str| match field {
        "over_provisioning" => Some(format!(
            "fitted: {:.4e} bytes of flash, {percent:.0} % interval {:.4e} to {:.4e}",
            range.value, range.low, range.high
        )),
        "cleaning.policy" => Some(match twin.choices[0].as_well.is_empty() {
            true => "chosen: its alternatives fit worse".into(),
            false => format!("chosen; fit as well: {}", twin.choices[0].as_well.join(", ")),
        }),
        "flash.page_program" | "flash.page_read" | "flash.serial_access_per_kib" => {
            Some("fitted to throughput; how it is made up is assumed".into())
        }
        "flash.packages" | "flash.pages_per_block" | "flash.page_size" => {
            Some("assumed: a fill sweep does not tell".into())
        }
        _ => None,
    };
    format!(
        "# The twin of {}, fitted by `flashscope twin fit` to\n{sources}# Beside its data the drive writes \
         {:.4} bytes for each ({percent:.0} % interval {:.4} to {:.4}), for which there is no field.\n\n{}",
        twin.drive,
        kappa.value,
        kappa.low,
        kappa.high,
        drive.to_toml(comment)
    )
}

/// Packages of a drive of which no more is known than its size.
const PACKAGES: u64 = 8;

/// Bytes of its pages.
const PAGE: u64 = 4096;

/// A drive whose blocks are as large as those of large drives, but of which each package has a thousand at least.
#[allow(clippy::cast_precision_loss, reason = "a thousand")]
fn large(fullest: Bytes) -> Profile {
    const BLOCKS: u64 = 1024;
    let pages = (fullest.0 / (PACKAGES * PAGE * BLOCKS)).clamp(32, 1024);
    let pages = 1 << pages.ilog2();
    let blocks = fullest.0 / (PACKAGES * PAGE * pages);
    // Two, one of which is being written to.
    let threshold = 1.9 / (1.2 * blocks as f64).max(8.0);
    let spec = format!(
        "agrawal-2008?flash.dies_per_package=1&flash.planes_per_die=1&persistence.map=pages\
         &flash.packages={PACKAGES}&flash.page_size={PAGE}&flash.pages_per_block={pages}\
         &flash.metadata_size=0&packages_per_pool={PACKAGES}&active_blocks=package\
         &cleaning.free_threshold={threshold}&interface.queue_depth=256&flash.block_erase=1us"
    );
    profile::parse(&spec).expect("the profile is among those that are built in")
}

/// A drive with the flash and the throughput of the model. A page of the host takes a program and a transfer, one that
/// is moved a read and a transfer more.
fn drive(like: &Profile, model: &FillModel, fullest: Bytes) -> Profile {
    let mut drive = like.clone();
    let block = drive.flash.page_size.0 * u64::from(drive.flash.pages_per_block);
    #[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
    let blocks = model.flash_bytes / (block * u64::from(drive.flash.packages)) as f64;
    let flash_bytes = model.flash_bytes * (1.0 + KEPT / blocks);
    drive.over_provisioning = spare(&FillModel { flash_bytes, ..model.clone() }, fullest);
    drive.cleaning.policy.clone_from(&model.policy);
    drive.cleaning.choices = 5;
    if let (Some(bare), Some(moved)) = (model.bare_bytes_per_second, model.moved) {
        #[allow(clippy::cast_precision_loss, reason = "pages are small")]
        let page = drive.flash.page_size.0 as f64;
        // What the flash does for each page, and for what the drive writes beside it.
        let of_page = 1e9 * page * f64::from(drive.flash.packages) / bare;
        let more = ((moved - 1.0) * of_page).max(0.0);
        let bus = (BUS * of_page).min(more / 2.0).max(1.0);
        let nanos = |nanos: f64| rounded(nanos.max(1.0));
        drive.flash.serial_access_per_kib = nanos(bus * 1024.0 / page);
        drive.flash.page_read = nanos(more - bus);
        drive.flash.page_program = nanos(of_page - bus);
        (drive.interface.request_overhead, drive.interface.transfer_per_kib) = (Nanos(0), Nanos(0));
    }
    drive.sized(fullest).unwrap_or(drive)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times")]
fn rounded(nanos: f64) -> Nanos {
    Nanos(nanos.round() as u64)
}
