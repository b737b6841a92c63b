//! Shared storage that is not visible at the start of a drive: in partitions, and in volume groups
//! of clusters.

use super::image::Image;

/// The maximum number of entries of a GPT to inspect. A GPT usually has 128 entries.
const MAX_PARTITIONS: u32 = 128;

/// The maximum length of a volume group's metadata in bytes.
const LONGEST_METADATA: u64 = 1 << 20;

/// The magic before the metadata of LVM2 (`FMTT_MAGIC` of `lib/format_text/layout.h`).
const LVM2_METADATA: &[u8] = b" LVM2 x[5A%r0N*>";

/// Returns a signature of shared storage on the drive itself or in one of its partitions.
pub(super) fn find(image: &Image) -> Option<(&'static str, u64)> {
    let parts = partitions(image);
    on(image).or_else(|| {
        parts.into_iter().find_map(|(start, size)| {
            let (name, offset) = on(&image.part(start, size)?)?;
            Some((name, start + offset))
        })
    })
}

/// Returns a signature of shared storage on a drive or partition itself, not in its partitions.
fn on(image: &Image) -> Option<(&'static str, u64)> {
    let shared = super::SIGNATURES.iter().filter(|signature| signature.shared);
    let mark = image.marks(shared).next().map(|(signature, at)| (signature.name, at));
    mark.or_else(|| {
        let clustered = volume_group(image).is_some_and(|text| is_clustered(&text));
        clustered.then_some(("an LVM volume group that several hosts share", 0))
    })
}

/// Returns offset and length in bytes of the partitions in an MBR or GPT, without logical
/// partitions.
pub(super) fn partitions(image: &Image) -> Vec<(u64, u64)> {
    let end = |back: u64| image.size.checked_sub(back);
    let headers = [(Some(512), 512), (Some(4096), 4096), (end(512), 512), (end(4096), 4096)];
    let gpt = headers.into_iter().filter_map(|(header, sector)| gpt(image, header?, sector));
    let mut partitions: Vec<_> = gpt.flatten().collect();
    partitions.extend(mbr(image));
    partitions.sort_unstable();
    partitions.dedup();
    partitions
}

fn gpt(image: &Image, header: u64, sector: u64) -> Option<Vec<(u64, u64)>> {
    if !image.has(header, b"EFI PART") {
        return None;
    }
    let entries = image.u64(header + 72)?.checked_mul(sector)?;
    let count = image.u32(header + 80)?.min(MAX_PARTITIONS);
    let len = u64::from(image.u32(header + 84)?).clamp(128, 4096);
    let partition = |i: u32| {
        let lbas = entries.checked_add(u64::from(i) * len + 32)?;
        let (first, last) = (image.u64(lbas)?, image.u64(lbas.checked_add(8)?)?);
        let sectors = last.checked_sub(first)?.checked_add(1)?;
        (first > 0).then_some((first.checked_mul(sector)?, sectors.checked_mul(sector)?))
    };
    Some((0..count).filter_map(partition).collect())
}

fn mbr(image: &Image) -> Vec<(u64, u64)> {
    if !image.has(510, b"\x55\xaa") {
        return Vec::new();
    }
    let partition = |i: u64| {
        let entry = 446 + 16 * i;
        let (start, sectors) = (image.u32(entry + 8)?, image.u32(entry + 12)?);
        (start > 0 && sectors > 0).then_some((u64::from(start) * 512, u64::from(sectors) * 512))
    };
    (0..4).filter_map(partition).collect()
}

/// Returns the LVM2 metadata of the volume group that a physical volume belongs to.
fn volume_group(image: &Image) -> Option<String> {
    let label = (0..4)
        .map(|sector| sector * 512)
        .find(|label| image.has(*label, b"LABELONE") && image.has(label + 24, b"LVM2 001"))?;
    let header = label + u64::from(image.u32(label + 20)?);
    // The header: a UUID and the size, the list of data areas, then the list of metadata areas.
    // Each list ends with a zero.
    let mut area = header + 40;
    let mut lists = 0;
    for _ in 0..16 {
        let (offset, size) = (image.u64(area)?, image.u64(area + 8)?);
        area += 16;
        if offset == 0 {
            lists += 1;
            if lists == 2 {
                break;
            }
        } else if lists == 1
            && let Some(text) = metadata(image, offset, size)
        {
            return Some(text);
        }
    }
    None
}

/// Returns the text in a metadata area, which consists of a header of one sector and a ring buffer.
fn metadata(image: &Image, area: u64, area_size: u64) -> Option<String> {
    if !image.has(area.checked_add(4)?, LVM2_METADATA) {
        return None;
    }
    let (offset, size) = (image.u64(area + 40)?, image.u64(area + 48)?.min(LONGEST_METADATA));
    let to_end = area_size.checked_sub(offset)?.min(size);
    let read = |offset: u64, len: u64| image.bytes(offset, usize::try_from(len).ok()?);
    let mut text = read(area.checked_add(offset)?, to_end)?.into_owned();
    if to_end < size {
        text.extend_from_slice(&read(area + 512, size - to_end)?);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns true if a flag of `clvmd` or a lock type of `lvmlockd` marks the volume group as shared.
fn is_clustered(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| {
        let lock = line.strip_prefix("lock_type = \"").and_then(|rest| rest.split('"').next());
        let flags = line.starts_with("status = [") || line.starts_with("flags = [");
        lock.is_some_and(|lock| lock != "none") || flags && line.contains("\"CLUSTERED\"")
    })
}
