//! The command `flashscope devices`.

use std::path::Path;

use anyhow::Context;
use flashscope_attach::{DeviceList, DriveStatus};
use flashscope_command::options::{JsonArgs, json_schema};
use flashscope_document::environment::Health;
use flashscope_drive::guard::System;
use flashscope_drive::health;
use flashscope_drive::identify::{Nvme, OptionalCommand};
use flashscope_drive::inventory::{self, Measurable, PcieLink, WriteCache};
use flashscope_report::table::{Align, Table};

use crate::print::layout;
use crate::print::{self, escape_untrusted};
use crate::{Failure, runtime};

type BlockDevice = inventory::BlockDevice<Health>;

/// List the block devices of this machine, and whether they can be measured.
///
/// Shows the properties of each device, and the command that measures it. If a device cannot be
/// written, the output states the reason for which `flashscope bench` would refuse it. The check
/// writes nothing. Some devices need root to be opened. For NVMe drives, the output for root also
/// has features and health: the used share of the rated life, the remaining spare blocks, and
/// warnings. The last entries are drives that `flashscope attach` serves for the same user.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("devices")))]
#[command(after_help = "Examples:
  flashscope devices
  flashscope devices --json")]
pub(crate) struct DevicesArgs {
    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,
}

pub(crate) fn devices(args: &DevicesArgs) -> Result<(), Failure> {
    let system = System::default();
    let health = |drive: &Path| Health::decode(&health::read_smart_log(&system, drive).ok()?, None);
    let inventory = inventory::devices(&system, health)
        .context("cannot list block devices: is /sys mounted here?")?;
    let folder = runtime::folder();
    let attached = flashscope_attach::attached_drives(&folder)
        .with_context(|| format!("cannot list attached drives: {}", folder.display()))?;
    let list = DeviceList { inventory, attached };
    Ok(print::document(args.json, &list, || table(&list))?)
}

/// The maximum number of columns of a line.
const WIDTH: usize = 100;

/// The indentation of the lines below a device.
const INDENT: &str = "    ";

const COLUMNS: usize = 10;

const HEAD: [&str; COLUMNS] =
    ["DEVICE", "SIZE", "SECTORS", "BUS", "ROTATES", "SCHEDULER", "QUEUE", "CACHE", "TRIM", "TEMP"];

/// Formats the devices as a table; below each row are the identity of the device and the commands
/// for it.
fn table(list: &DeviceList) -> String {
    let (shown, empty): (Vec<_>, Vec<_>) =
        list.inventory.devices.iter().partition(|device| device.capacity_bytes.0 > 0);
    let mut text = String::new();
    if !shown.is_empty() {
        let mut table = Table::new(&[Align::Left]).dense();
        table.row(HEAD);
        shown.iter().for_each(|device| table.row(row(device)));
        let table = table.to_string();
        let mut lines = table.lines();
        text += &format!("{}\n", lines.next().unwrap_or_default());
        for (device, line) in shown.iter().zip(lines) {
            text += &format!("{line}\n");
            text += &details(device);
        }
    }
    if !empty.is_empty() {
        let names: Vec<&str> = empty.iter().map(|device| device.path.as_str()).collect();
        text += &wrapped(&format!("without a medium: {}", names.join(", ")), "");
    }
    if text.is_empty() {
        text += "this machine has no block devices\n";
    }
    for live in &list.attached {
        text += &attached(live);
    }
    text
}

/// Formats a drive that a process has attached.
fn attached(live: &DriveStatus) -> String {
    let mut text = wrapped(&format!("attached: {}, {}", live.drive.name, live.size_bytes), "");
    let process = format!("by process {}", live.process);
    let facts =
        live.drive.model.iter().cloned().chain([process]).chain(live.places.iter().cloned());
    text += &wrapped(&facts.collect::<Vec<_>>().join(", "), INDENT);
    let Some(health) = &live.health else { return text };
    text += &wear(health);
    let media = health.ocp.as_ref().map(|ocp| format!(", {} to flash", ocp.media_bytes_written));
    let written =
        format!("{} written by the host{}", health.host_bytes_written, media.unwrap_or_default());
    text + &wrapped(&written, INDENT)
}

/// Returns the cells of a device; for a partition, only the cells that differ from its drive.
fn row(device: &BlockDevice) -> [String; COLUMNS] {
    let name = device.path.trim_start_matches("/dev/");
    let size = device.capacity_bytes.to_string();
    if device.partition_of.is_some() {
        let mut row: [String; COLUMNS] = Default::default();
        (row[0], row[1]) = (format!(" {name}"), size);
        return row;
    }
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let sectors = [device.logical_sector_bytes, device.physical_sector_bytes]
        .map(|size| or_unknown(size.map(|size| size.0.to_string())))
        .join("/");
    let bus = match &device.pcie_link {
        Some(link) => format!("{} {}", device.bus.name(), speed(link)),
        None => device.bus.name().into(),
    };
    let yes = |flag| if flag { "yes" } else { "no" }.to_owned();
    let cache = device.write_cache.map(|cache| match cache {
        WriteCache::Back => "back".into(),
        WriteCache::Through => "through".into(),
    });
    [
        name.into(),
        size,
        sectors,
        bus,
        or_unknown(device.rotational.map(yes)),
        or_unknown(device.scheduler.clone()),
        or_unknown(device.queue_depth.map(|depth| depth.to_string())),
        or_unknown(cache),
        or_unknown(device.discard.map(yes)),
        or_unknown(temperature(device).map(|celsius| format!("{celsius:.0} °C"))),
    ]
}

/// Returns the temperature in degrees Celsius, from the kernel's sensor or else from the drive.
fn temperature(device: &BlockDevice) -> Option<f64> {
    let reported = device.health.as_ref().and_then(|health| health.temperature_celsius);
    device.temperature_celsius.or(reported)
}

fn speed(link: &PcieLink) -> String {
    format!("{}GT/s x{}", link.gigatransfers_per_s, link.lanes)
}

/// Returns the lines below the row of a device.
fn details(device: &BlockDevice) -> String {
    let mut text = String::new();
    if device.partition_of.is_none() {
        let named = [("serial", &device.serial), ("firmware", &device.firmware)];
        let named = named.into_iter().filter_map(|(what, name)| Some((what, name.as_ref()?)));
        let named = named.map(|(what, name)| format!("{what} {name}"));
        let behind = device.backing_file.as_ref().map(|file| format!("backed by the file {file}"));
        let identity = device.model.iter().cloned().chain(named).chain(behind);
        let facts: Vec<String> = identity.chain(slow_link(device)).collect();
        text += &wrapped(&facts.join(", "), INDENT);
        text += &device.nvme.as_ref().map(features).unwrap_or_default();
        text += &device.health.as_ref().map(wear).unwrap_or_default();
    }
    match &device.measurable {
        Measurable::Everything { command } => {
            text += &format!("{INDENT}destroys its data: {command}\n");
        }
        Measurable::Reads { command, reason, .. } => {
            text += &format!("{INDENT}measure reads: {command}\n");
            text += &wrapped(&format!("cannot be written: {reason}"), INDENT);
        }
        Measurable::Nothing { reason, .. } => {
            text += &wrapped(&format!("cannot be measured: {reason}"), INDENT);
        }
    }
    text
}

/// Returns a note if a drive runs on a slower link than it supports, which limits its performance.
fn slow_link(device: &BlockDevice) -> Option<String> {
    let link = device.pcie_link?;
    let best = PcieLink {
        gigatransfers_per_s: link.max_gigatransfers_per_s?,
        lanes: link.max_lanes?,
        ..link
    };
    let slower = link.gigatransfers_per_s < best.gigatransfers_per_s || link.lanes < best.lanes;
    slower.then(|| format!("on a slower link than the {} that it supports", speed(&best)))
}

/// Returns the lines on the features of an NVMe drive.
fn features(nvme: &Nvme) -> String {
    let version = nvme.version.as_ref().map_or("NVMe".into(), |version| format!("NVMe {version}"));
    let longest = nvme.max_transfer_bytes.map(|most| format!("up to {most} per command"));
    let formats = nvme.namespace.formats.iter().map(|format| {
        let in_use = if format.in_use { " (in use)" } else { "" };
        match format.metadata_bytes.0 {
            0 => format!("{}{in_use}", format.data_bytes.0),
            metadata => format!("{}+{metadata}{in_use}", format.data_bytes.0),
        }
    });
    let formats = formats.collect::<Vec<_>>().join(", ");
    let trims = nvme.optional_commands.contains(&OptionalCommand::DatasetManagement);
    let can = [
        (trims, "trim"),
        (nvme.format.is_some(), "format"),
        (nvme.sanitize.block_erase, "sanitize by block erase"),
    ];
    let can: Vec<&str> = can.into_iter().filter(|(can, _)| *can).map(|(_, what)| what).collect();
    let can = (!can.is_empty()).then(|| format!("supports {}", can.join(", ")));
    let facts: Vec<String> = [version].into_iter().chain(longest).chain(can).collect();
    wrapped(&format!("{}; blocks of {formats} B", facts.join(", ")), INDENT)
}

/// Returns the lines on the wear of an NVMe drive and its warnings.
fn wear(health: &Health) -> String {
    let (used, spare) = (health.percentage_used, health.available_spare_percent);
    let mut text =
        format!("{INDENT}{used} % of its rated life used, {spare} % of its spare blocks left\n");
    for warning in &health.critical_warnings {
        text += &wrapped(&format!("drive warning: {}", warning.text()), INDENT);
    }
    text
}

/// Wraps a text to lines of at most [`WIDTH`], each after `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    // A name with line breaks would look like several devices.
    layout::wrapped(&escape_untrusted(text), indent, indent, WIDTH)
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;
    use flashscope_drive::identify::{FormatSupport, LbaFormat, Namespace, SanitizeSupport};
    use flashscope_drive::inventory::{Bus, Obstacle};

    use super::*;

    /// Returns the SMART page of a worn drive at 318 K, which warns of 4 % spare left and of
    /// read-only media.
    fn smart() -> [u8; 512] {
        let mut page = [0; 512];
        page[..6].copy_from_slice(&[0b1001, 0x3E, 0x01, 4, 10, 103]);
        page
    }

    /// Returns a drive that supports trim and format, with blocks of 512 B, or 4 KiB with 8 B of
    /// metadata.
    fn identified() -> Nvme {
        let format = |number, data, metadata| LbaFormat {
            number,
            data_bytes: Bytes(data),
            metadata_bytes: Bytes(metadata),
            relative_performance: 0,
            in_use: number == 0,
        };
        Nvme {
            version: Some("1.4.0".into()),
            total_capacity_bytes: None,
            max_transfer_bytes: Some(Bytes::kib(512)),
            optional_commands: vec![OptionalCommand::DatasetManagement],
            format: Some(FormatSupport {
                formats_all_namespaces: false,
                erases_all_namespaces: false,
                cryptographic_erase: false,
            }),
            sanitize: SanitizeSupport { crypto_erase: true, block_erase: false, overwrite: false },
            namespace: Namespace {
                number: 1,
                size_bytes: Bytes(1_000_204_886_016),
                capacity_bytes: Bytes(1_000_204_886_016),
                used_bytes: Bytes(0),
                deallocated_reads: None,
                formats: vec![format(0, 512, 0), format(1, 4096, 8)],
            },
        }
    }

    fn nvme() -> BlockDevice {
        BlockDevice {
            path: "/dev/nvme10n1".into(),
            partition_of: None,
            capacity_bytes: Bytes(1_000_204_886_016),
            logical_sector_bytes: Some(Bytes(512)),
            physical_sector_bytes: Some(Bytes(4096)),
            model: Some("Flash 9000 PRO with a \x1b[31mname of the whole forty".into()),
            serial: Some("S4EWNX0R123456789012".into()),
            firmware: Some("2B2QEXM7".into()),
            bus: Bus::Nvme,
            pcie_link: Some(PcieLink {
                gigatransfers_per_s: 8.0,
                lanes: 4,
                max_gigatransfers_per_s: Some(16.0),
                max_lanes: Some(4),
            }),
            rotational: Some(false),
            scheduler: Some("mq-deadline".into()),
            queue_depth: Some(1023),
            write_cache: Some(WriteCache::Through),
            discard: Some(true),
            temperature_celsius: Some(35.85),
            health: Health::decode(&smart(), None),
            nvme: Some(identified()),
            backing_file: None,
            measurable: Measurable::Everything {
                command: "flashscope bench /dev/nvme10n1 --destroy-data-on S4EWNX0R123456789012"
                    .into(),
            },
        }
    }

    fn partition() -> BlockDevice {
        BlockDevice {
            path: "/dev/nvme10n1p12".into(),
            partition_of: Some("/dev/nvme10n1".into()),
            measurable: Measurable::Reads {
                command: "flashscope bench /dev/nvme10n1p12 --read-only".into(),
                obstacle: Obstacle::Mounted,
                reason: "`/dev/nvme10n1p12` is in use: /dev/nvme10n1p12 is mounted at \
                         `/srv/data`; unmount it first"
                    .into(),
            },
            ..nvme()
        }
    }

    fn empty(name: &str) -> BlockDevice {
        let measurable = Measurable::Nothing { obstacle: None, reason: "it has no medium".into() };
        BlockDevice { path: name.into(), capacity_bytes: Bytes(0), measurable, ..nvme() }
    }

    #[test]
    fn table_fits_100_columns_and_escapes_names() {
        let devices = vec![nvme(), partition(), empty("/dev/loop0"), empty("/dev/loop1")];
        let inventory = inventory::Inventory { devices };
        let text = table(&DeviceList { inventory, attached: Vec::new() });
        insta::assert_snapshot!(text, @r"
        DEVICE       SIZE    SECTORS  BUS           ROTATES SCHEDULER   QUEUE CACHE   TRIM TEMP
        nvme10n1     932 GiB 512/4096 nvme 8GT/s x4 no      mq-deadline 1023  through yes  36 °C
            Flash 9000 PRO with a \u{1b}[31mname of the whole forty, serial S4EWNX0R123456789012, firmware
            2B2QEXM7, on a slower link than the 16GT/s x4 that it supports
            NVMe 1.4.0, up to 512 KiB per command, supports trim, format; blocks of 512 (in use), 4096+8 B
            103 % of its rated life used, 4 % of its spare blocks left
            drive warning: few spare blocks are left
            drive warning: it cannot be written any more
            destroys its data: flashscope bench /dev/nvme10n1 --destroy-data-on S4EWNX0R123456789012
         nvme10n1p12 932 GiB
            measure reads: flashscope bench /dev/nvme10n1p12 --read-only
            cannot be written: `/dev/nvme10n1p12` is in use: /dev/nvme10n1p12 is mounted at `/srv/data`;
            unmount it first
        without a medium: /dev/loop0, /dev/loop1
        ");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn drive_temperature_is_used_only_without_a_kernel_sensor() {
        let cell = |device: &BlockDevice| row(device)[COLUMNS - 1].clone();
        assert_eq!(cell(&nvme()), "36 °C");
        let without = BlockDevice { temperature_celsius: None, ..nvme() };
        assert_eq!(cell(&without), "45 °C");
        assert_eq!(cell(&BlockDevice { health: None, ..without }), "–");
    }

    /// Returns an attached simulated drive that was written.
    fn live() -> DriveStatus {
        let health = Health { host_bytes_written: Bytes::mib(512), ..nvme().health.unwrap() };
        serde_json::from_value(serde_json::json!({
            "process": 4711,
            "drive": {
                "name": "sim:demo",
                "kind": "sim",
                "capacity_bytes": Bytes::GIB,
                "logical_block_bytes": 512,
                "queue_depth": 32,
                "model": "a drive\u{1b}",
            },
            "size_bytes": Bytes::GIB,
            "places": ["nbd://127.0.0.1:10809"],
            "attached_s": 12.5,
            "busy_s": 0.0,
            "ops": [],
            "in_flight": 0,
            "health": health,
            "samples_taken": 0,
            "samples": [],
        }))
        .unwrap()
    }

    #[test]
    fn attached_drives_are_listed_without_any_block_device() {
        let inventory = inventory::Inventory { devices: Vec::new() };
        let text = table(&DeviceList { inventory, attached: vec![live()] });
        insta::assert_snapshot!(text, @r"
        this machine has no block devices
        attached: sim:demo, 1 GiB
            a drive\u{1b}, by process 4711, nbd://127.0.0.1:10809
            103 % of its rated life used, 4 % of its spare blocks left
            drive warning: few spare blocks are left
            drive warning: it cannot be written any more
            512 MiB written by the host
        ");
    }
}
