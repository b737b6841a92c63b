use flashscope_block::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

/// Where a drive is attached, as `flashscope attach --json` prints it once clients may come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attached {
    /// How the drive was named.
    pub drive: String,
    /// Bytes that can be addressed.
    pub size_bytes: Bytes,
    /// The unit that the drive reads and writes.
    pub logical_block_bytes: Bytes,
    /// How it is served: `nbd`, `fuse` or `ublk`.
    pub way: String,
    /// Where: a URI of NBD, or the path of a file or device.
    pub place: String,
    /// For how long a request of 4 KiB and its answer are under way, beside what the drive takes: so much
    /// earlier it is answered. Absent where answers are not held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<Nanos>,
    /// Where a browser sees what it does; absent where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// The same in words, with what to type next.
pub fn attached(attached: &Attached) -> String {
    let Attached { drive, size_bytes, way, place, page, .. } = attached;
    let next = match way.as_str() {
        "nbd" => format!("qemu-img info '{place}', nbdinfo '{place}', or nbd-client"),
        "fuse" => format!("losetup --find --show --direct-io=on '{place}'"),
        _ => format!("lsblk {place}"),
    };
    let page = page.iter().map(|page| format!("  what it does: {page}\n")).collect::<String>();
    format!("{drive}, {size_bytes}: {place}\n  next: {next}\n{page}  Ctrl-C ends it\n")
}
