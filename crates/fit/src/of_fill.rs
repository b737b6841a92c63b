//! Builds a twin from a fill sweep alone: from measurements of uniform writes at several fill
//! levels.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, Nanos};
use flashscope_sim::{Profile, setup};

use flashscope_document::twin::{FillFit, FillModel, Range, StructureChoice, Twin};

use super::amplification::without_kappa;

/// Returns the share of the flash that holds no data at the fullest level.
#[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
pub(super) fn spare(model: &FillModel, fullest: Bytes) -> f64 {
    (1.0 - fullest.0 as f64 / model.flash_bytes).clamp(0.001, 0.95)
}

/// The blocks of each package that never hold data of the host: the free blocks kept for cleaning,
/// and the block being written.
pub(super) const KEPT: f64 = 3.0;

/// The number of free blocks below which a package cleans. The drive rounds it up to its minimum of
/// two blocks: one to write to, and one to move pages to.
pub(super) const FREE_BLOCKS: f64 = 1.9;

/// The largest queue depth that the drive of a fill sweep accepts.
const DEEPEST: u32 = 1024;

/// The maximum time of a page transfer over the serial bus, as a share of the time that a host page
/// takes.
const BUS: f64 = 0.1;

/// Completes the twin of a fill sweep. Its structure is that of `like`, or else that of a generic
/// drive.
pub(super) fn complete(twin: &mut Twin, fill: &FillFit, like: Option<&Profile>) {
    let fullest = fill.levels.last().map_or(Bytes(0), |level| level.fill);
    let like = like.cloned().unwrap_or_else(|| large(fullest));
    let depth = twin.queue_depth.map_or(1, |depth| depth.usual);
    let drive = drive(&like, fill.best(), fullest, depth);
    let base = drive.fields();
    let draw = |model: &FillModel| -> BTreeMap<String, String> {
        let drawn = self::drive(&like, model, fullest, depth).fields().into_iter().zip(&base);
        drawn.filter(|(drawn, base)| drawn != *base).map(|(drawn, _)| drawn).collect()
    };
    twin.draws = fill.draws.iter().map(draw).collect();
    twin.drive = format!("a drive of {fullest}");
    let others = fill.policies.iter().skip(1).filter(|fit| fit.fits_as_well);
    twin.choices = vec![StructureChoice {
        field: "cleaning.policy".into(),
        value: drive.cleaning.policy.clone(),
        as_well: others.map(|fit| fit.model.policy.clone()).collect(),
    }];
    twin.measure_next = vec![
        "response times: `flashscope bench DRIVE --only granularity,locality,partitioning`".into(),
        "the cleaning policy: compare skewed writes (`zipf`) with uniform ones; a fill sweep alone does not determine it"
            .into(),
    ];
    if !fill.knows_write_amplification() {
        twin.measure_next.insert(
            0,
            "write amplification at each fill level: throughput alone does not identify it".into(),
        );
    }
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
            Some("fitted to throughput; its split into these times is assumed".into())
        }
        "flash.packages" | "flash.pages_per_block" | "flash.page_size" => {
            Some("assumed: a fill sweep does not determine it".into())
        }
        _ => None,
    };
    let besides = match fill.knows_write_amplification() {
        true => format!(
            "# The drive programs {:.4} bytes for each byte of data ({percent:.0} % interval {:.4} to {:.4}), because of its \
             own writes. There is no field for this factor; its time is part of the times below.",
            kappa.value, kappa.low, kappa.high
        ),
        false => unidentified(fill),
    };
    let (of, fields) = (&twin.drive, drive.to_toml(comment));
    format!(
        "# The twin of {of}, fitted by `flashscope twin fit` to\n{sources}{besides}\n\n{fields}"
    )
}

fn unidentified(fill: &FillFit) -> String {
    let assumed = "# Assumed: the drive writes nothing besides its data.";
    let Some(fullest) = fill.unidentified.as_ref().and_then(|ranges| ranges.last()) else {
        return assumed.into();
    };
    let Range { low, high, .. } = fullest.write_amplification;
    format!(
        "# Throughput alone does not identify write amplification: between {low:.2} and {high:.2} with {} of data, by \
         policy and by the drive's own writes.\n{assumed}",
        fullest.fill
    )
}

/// The page size of a drive that is known only by its size, in bytes.
const PAGE: u64 = 4096;

/// Returns a generic drive of the size `fullest`. It handles one page at a time: at every queue
/// depth, its throughput is that of the closed form. Its blocks have up to 256 pages, but fewer if
/// the drive would have less than a thousand blocks.
#[allow(clippy::cast_precision_loss, reason = "the number of blocks is far below 2^53")]
fn large(fullest: Bytes) -> Profile {
    const BLOCKS: u64 = 1024;
    let pages = (fullest.0 / (PAGE * BLOCKS)).clamp(64, 256);
    let pages = 1 << pages.ilog2();
    let blocks = (1.2 * (fullest.0 / (PAGE * pages)) as f64).max(8.0);
    let threshold = FREE_BLOCKS / blocks;
    let spec = format!(
        "agrawal-2008?flash.dies_per_package=1&flash.planes_per_die=1&persistence.map=pages\
         &flash.packages=1&flash.page_size={PAGE}&flash.pages_per_block={pages}\
         &flash.blocks_per_plane={blocks:.0}&flash.metadata_size=0\
         &cleaning.free_threshold={threshold}&interface.queue_depth={DEEPEST}&flash.block_erase=1us"
    );
    setup::parse(&spec).expect("the profile is among those that are built in")
}

/// Returns a drive with the flash capacity and the throughput of the model. A host page takes a
/// program and a transfer; a moved page also takes a read and a second transfer. `depth` is the
/// queue depth of the measurement: at most this many packages worked at the same time.
fn drive(like: &Profile, model: &FillModel, fullest: Bytes, depth: u32) -> Profile {
    // A profile has no field for the drive's own writes. Their time is part of the times of pages
    // instead.
    let model = &without_kappa(model);
    let mut drive = like.clone();
    let busy = f64::from(drive.flash.packages.min(depth.max(1)));
    drive.interface.queue_depth = drive.interface.queue_depth.max(depth);
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
        // The time that the flash spends on each page, including the drive's own extra writes.
        let of_page = 1e9 * page * busy / bare;
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

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are positive")]
fn rounded(nanos: f64) -> Nanos {
    Nanos(nanos.round() as u64)
}
