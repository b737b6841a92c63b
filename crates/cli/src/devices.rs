//! `flashscope devices`.

use std::path::Path;

use anyhow::Context;
use flashscope_attach::{Listed, Live};
use flashscope_command::options::{JsonArgs, json_schema};
use flashscope_drive::guard::System;
use flashscope_drive::health;
use flashscope_drive::identify::{Nvme, OptionalCommand};
use flashscope_drive::inventory::{self, Measurable, PcieLink, WriteCache};
use flashscope_result::environment::Health;

use crate::print::{self, escape_untrusted};
use crate::{Failure, runtime};

type BlockDevice = inventory::BlockDevice<Health>;

/// List the block devices of this machine, and whether they can be measured.
///
/// Each is shown with what the kernel knows of it, and with the command line to type; where it
/// cannot be written, with what is in the way, as the guards before any write find it. Nothing is
/// written to find this out. As another user than root, devices that cannot be opened are listed and
/// said to be so. NVMe drives are asked what they can do and for their health, which takes root: what
/// is used of their rated life and left of their spare blocks, and what they warn of. Drives that
/// `flashscope attach` has attached for the same user come last, simulated ones with their health.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("devices")))]
#[command(after_help = "Examples:
  flashscope devices
  flashscope devices --json")]
pub struct DevicesArgs {
    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,
}

pub fn devices(args: &DevicesArgs) -> Result<(), Failure> {
    let system = System::default();
    let health = |drive: &Path| Health::decode(&health::smart(&system, drive).ok()?, None);
    let inventory = inventory::devices(&system, health)
        .context("cannot list block devices: is /sys mounted here?")?;
    let folder = runtime::folder();
    let attached = flashscope_attach::attached(&folder)
        .with_context(|| format!("cannot list attached drives: {}", folder.display()))?;
    let found = Listed { inventory, attached };
    Ok(print::document(args.json, &found, || table(&found))?)
}

/// How wide a line may be.
const WIDTH: usize = 100;

/// What stands under a device, for people.
const INDENT: &str = "    ";

const COLUMNS: usize = 10;

const HEAD: [&str; COLUMNS] =
    ["DEVICE", "SIZE", "SECTORS", "BUS", "ROTATES", "SCHEDULER", "QUEUE", "CACHE", "TRIM", "TEMP"];

/// The devices as a table, each with what it is and what can be done with it below its row.
fn table(found: &Listed) -> String {
    let (shown, empty): (Vec<_>, Vec<_>) =
        found.inventory.devices.iter().partition(|device| device.capacity_bytes.0 > 0);
    let rows: Vec<[String; COLUMNS]> = shown.iter().map(|device| row(device)).collect();
    let head = HEAD.map(str::to_owned);
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    let mut text = String::new();
    if !shown.is_empty() {
        text += &line(&head, &widths);
    }
    for (device, row) in shown.iter().zip(&rows) {
        text += &line(row, &widths);
        text += &about(device);
    }
    if !empty.is_empty() {
        let names: Vec<&str> = empty.iter().map(|device| device.path.as_str()).collect();
        text += &wrapped(&format!("holding nothing: {}", names.join(", ")), "");
    }
    if text.is_empty() {
        text += "this machine has no block device\n";
    }
    for live in &found.attached {
        text += &attached(live);
    }
    text
}

/// A drive that a process has attached.
fn attached(live: &Live) -> String {
    let mut text = wrapped(&format!("attached: {}, {}", live.drive.name, live.size_bytes), "");
    let process = format!("by process {}", live.process);
    let facts =
        live.drive.model.iter().cloned().chain([process]).chain(live.places.iter().cloned());
    text += &wrapped(&facts.collect::<Vec<_>>().join(", "), INDENT);
    let Some(health) = &live.health else { return text };
    text += &wear(health);
    let media =
        health.ocp.as_ref().map(|ocp| format!(", {} to its flash", ocp.media_bytes_written));
    let written =
        format!("{} written to it{}", health.host_bytes_written, media.unwrap_or_default());
    text + &wrapped(&written, INDENT)
}

fn line(row: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &width)| format!("{cell:<width$}"));
    let line = cells.collect::<Vec<_>>().join(" ");
    format!("{}\n", line.trim_end())
}

/// The facts of a device; of a partition only what it does not share with its drive.
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

/// By the kernel's sensor, or where the kernel has none by the drive's own word, in degrees Celsius.
fn temperature(device: &BlockDevice) -> Option<f64> {
    let told = device.health.as_ref().and_then(|health| health.temperature_celsius);
    device.temperature_celsius.or(told)
}

fn speed(link: &PcieLink) -> String {
    format!("{}GT/s x{}", link.gigatransfers_per_s, link.lanes)
}

/// The lines below the row of a device.
fn about(device: &BlockDevice) -> String {
    let mut text = String::new();
    if device.partition_of.is_none() {
        let named = [("serial", &device.serial), ("firmware", &device.firmware)];
        let named = named.into_iter().filter_map(|(what, name)| Some((what, name.as_ref()?)));
        let named = named.map(|(what, name)| format!("{what} {name}"));
        let behind = device.backing_file.as_ref().map(|file| format!("of the file {file}"));
        let identity = device.model.iter().cloned().chain(named).chain(behind);
        let facts: Vec<String> = identity.chain(slowed(device)).collect();
        text += &wrapped(&facts.join(", "), INDENT);
        text += &device.nvme.as_ref().map(abilities).unwrap_or_default();
        text += &device.health.as_ref().map(wear).unwrap_or_default();
    }
    match &device.measurable {
        Measurable::Everything { command } => {
            text += &format!("{INDENT}destroys its data: {command}\n");
        }
        Measurable::Reads { command, reason, .. } => {
            text += &format!("{INDENT}only reads: {command}\n");
            text += &wrapped(&format!("no writes: {reason}"), INDENT);
        }
        Measurable::Nothing { reason, .. } => {
            text += &wrapped(&format!("cannot be measured: {reason}"), INDENT);
        }
    }
    text
}

/// That a drive is on a slower link than it could be, which bounds what is measured.
fn slowed(device: &BlockDevice) -> Option<String> {
    let link = device.pcie_link?;
    let best = PcieLink {
        gigatransfers_per_s: link.max_gigatransfers_per_s?,
        lanes: link.max_lanes?,
        ..link
    };
    let slower = link.gigatransfers_per_s < best.gigatransfers_per_s || link.lanes < best.lanes;
    slower.then(|| format!("on a slower link than its best of {}", speed(&best)))
}

/// The lines on what an NVMe drive can do.
fn abilities(nvme: &Nvme) -> String {
    let version = nvme.version.as_ref().map_or("NVMe".into(), |version| format!("NVMe {version}"));
    let longest = nvme.max_transfer_bytes.map(|most| format!("up to {most} a command"));
    let formats = nvme.namespace.formats.iter().map(|format| {
        let in_use = if format.in_use { " (as it is)" } else { "" };
        match format.metadata_bytes.0 {
            0 => format!("{}{in_use}", format.data_bytes.0),
            metadata => format!("{}+{metadata}{in_use}", format.data_bytes.0),
        }
    });
    let formats = formats.collect::<Vec<_>>().join(", ");
    let trims = nvme.optional_commands.contains(&OptionalCommand::DatasetManagement);
    let can = [
        (trims, "trim"),
        (nvme.format.is_some(), "format itself"),
        (nvme.sanitize.block_erase, "sanitize itself by block erase"),
    ];
    let can: Vec<&str> = can.into_iter().filter(|(can, _)| *can).map(|(_, what)| what).collect();
    let can = (!can.is_empty()).then(|| format!("can {}", can.join(", ")));
    let facts: Vec<String> = [version].into_iter().chain(longest).chain(can).collect();
    wrapped(&format!("{}; blocks of {formats} B", facts.join(", ")), INDENT)
}

/// The lines on what an NVMe drive used of its rated life, has left to replace worn blocks, and warns
/// of.
fn wear(health: &Health) -> String {
    let (used, spare) = (health.percentage_used, health.available_spare_percent);
    let mut text =
        format!("{INDENT}{used} % of its rated life used, {spare} % of its spare blocks left\n");
    for warning in &health.critical_warnings {
        text += &wrapped(&format!("the drive warns that {}", warning.text()), INDENT);
    }
    text
}

/// A text in lines of at most [`WIDTH`], broken between words, each after `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    // A name of several lines would look like several devices.
    let text = escape_untrusted(text);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let room = WIDTH - indent.len() - word.chars().count().min(WIDTH - indent.len());
        match lines.last_mut() {
            Some(line) if line.chars().count() < room => *line += &format!(" {word}"),
            _ => lines.push(word.into()),
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;
    use flashscope_drive::identify::{FormatSupport, LbaFormat, Namespace, SanitizeSupport};
    use flashscope_drive::inventory::{Bus, Obstacle};

    use super::*;

    /// The page of a worn drive at 318 K with 4 % of its spare left, of which it warns, and that its
    /// media are read-only.
    fn smart() -> [u8; 512] {
        let mut page = [0; 512];
        page[..6].copy_from_slice(&[0b1001, 0x3E, 0x01, 4, 10, 103]);
        page
    }

    /// Of a drive that trims and formats itself, with blocks of 512 B, or 4 KiB with 8 B of metadata.
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
        let measurable = Measurable::Nothing { obstacle: None, reason: "it holds nothing".into() };
        BlockDevice { path: name.into(), capacity_bytes: Bytes(0), measurable, ..nvme() }
    }

    // Does the table say everything, in lines of 100 columns, and let no drive steer the terminal?
    #[test]
    fn the_table() {
        let devices = vec![nvme(), partition(), empty("/dev/loop0"), empty("/dev/loop1")];
        let inventory = inventory::Inventory { devices };
        let text = table(&Listed { inventory, attached: Vec::new() });
        insta::assert_snapshot!(text, @r"
        DEVICE       SIZE    SECTORS  BUS           ROTATES SCHEDULER   QUEUE CACHE   TRIM TEMP
        nvme10n1     932 GiB 512/4096 nvme 8GT/s x4 no      mq-deadline 1023  through yes  36 °C
            Flash 9000 PRO with a \u{1b}[31mname of the whole forty, serial S4EWNX0R123456789012, firmware
            2B2QEXM7, on a slower link than its best of 16GT/s x4
            NVMe 1.4.0, up to 512 KiB a command, can trim, format itself; blocks of 512 (as it is), 4096+8 B
            103 % of its rated life used, 4 % of its spare blocks left
            the drive warns that few spare blocks are left
            the drive warns that it cannot be written any more
            destroys its data: flashscope bench /dev/nvme10n1 --destroy-data-on S4EWNX0R123456789012
         nvme10n1p12 932 GiB
            only reads: flashscope bench /dev/nvme10n1p12 --read-only
            no writes: `/dev/nvme10n1p12` is in use: /dev/nvme10n1p12 is mounted at `/srv/data`; unmount it
            first
        holding nothing: /dev/loop0, /dev/loop1
        ");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    // Is a drive's own word on its temperature taken where the kernel has no sensor, and only there?
    #[test]
    fn temperature_without_a_sensor() {
        let cell = |device: &BlockDevice| row(device)[COLUMNS - 1].clone();
        assert_eq!(cell(&nvme()), "36 °C");
        let without = BlockDevice { temperature_celsius: None, ..nvme() };
        assert_eq!(cell(&without), "45 °C");
        assert_eq!(cell(&BlockDevice { health: None, ..without }), "–");
    }

    /// A simulated drive that was written.
    fn live() -> Live {
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

    // Does a machine without a block device get a sentence, not an empty table, and are attached
    // drives told with their health?
    #[test]
    fn no_device() {
        let inventory = inventory::Inventory { devices: Vec::new() };
        let text = table(&Listed { inventory, attached: vec![live()] });
        insta::assert_snapshot!(text, @r"
        this machine has no block device
        attached: sim:demo, 1 GiB
            a drive\u{1b}, by process 4711, nbd://127.0.0.1:10809
            103 % of its rated life used, 4 % of its spare blocks left
            the drive warns that few spare blocks are left
            the drive warns that it cannot be written any more
            512 MiB written to it
        ");
    }

    // Is a line filled to its width and not beyond, and a word that is longer left whole?
    #[test]
    fn lines_are_filled() {
        let half = "x".repeat(WIDTH / 2);
        let rest = "y".repeat(WIDTH / 2 - 1);
        assert_eq!(wrapped(&format!("{half} {rest} z"), ""), format!("{half} {rest}\nz\n"));
        let long = "z".repeat(WIDTH + 1);
        assert_eq!(wrapped(&format!("a {long} b"), ""), format!("a\n{long}\nb\n"));
    }
}
