use flashscope_block::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

/// An attached drive and its address: the output of `flashscope attach --json` once clients can
/// connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttachedDrive {
    /// The drive, as the user named it.
    pub drive: String,
    /// Addressable bytes.
    pub size_bytes: Bytes,
    /// The unit that the drive reads and writes.
    pub logical_block_bytes: Bytes,
    /// The interface by which the drive is attached: `nbd`, `fuse`, `ublk` or `nvme_tcp`.
    pub way: String,
    /// The address for clients: an NBD URI, `nvme+tcp://HOST:PORT/NQN`, or the path of a file or
    /// device.
    pub place: String,
    /// The time that a 4 KiB request and its answer spend between client and drive, in addition to
    /// the drive's own time. The server sends answers earlier by this time. Absent if it does not
    /// delay answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<Nanos>,
    /// The address of the drive's web page; absent if the user requested no page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// Returns the command that connects a drive at `nvme+tcp://HOST:PORT/NQN`.
fn connect_command(place: &str) -> Option<String> {
    let (address, nqn) = place.strip_prefix("nvme+tcp://")?.split_once('/')?;
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(format!(
        "modprobe nvme_tcp && nvme connect --transport tcp --traddr {host} --trsvcid {port} --nqn {nqn}"
    ))
}

/// Describes the attached drive in words, with the command to type next.
pub fn attached(attached: &AttachedDrive) -> String {
    let AttachedDrive { drive, size_bytes, way, place, page, .. } = attached;
    let next = match way.as_str() {
        "nbd" => format!("qemu-img info '{place}', nbdinfo '{place}', or nbd-client"),
        "fuse" => format!("losetup --find --show --direct-io=on '{place}'"),
        "nvme_tcp" => connect_command(place).unwrap_or_default(),
        _ => format!("lsblk {place}"),
    };
    let page = page.iter().map(|page| format!("  web page: {page}\n")).collect::<String>();
    format!("{drive}, {size_bytes}: {place}\n  next: {next}\n{page}  Ctrl-C detaches the drive\n")
}
