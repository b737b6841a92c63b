//! The requests of some volumes of a collection, in their order.

use std::collections::{BTreeMap, BTreeSet};

use super::part::each_batch;
use super::plan::Part;
use crate::{Error, Reader, Request, Spec};

/// The requests of volumes, by the name of the volume and the number of the file; within a file, by
/// part.
#[derive(Debug, Default)]
pub struct VolumeRequests(BTreeMap<String, BTreeMap<(u32, u32), Vec<Request>>>);

/// Reads the requests of the volumes `names` in a part. Calls `go_on` after each batch; returns
/// `None` once `go_on` returns false.
///
/// # Errors
/// The part cannot be read.
pub fn read_volumes(
    part: &Part,
    spec: &Spec,
    separate_files: bool,
    names: &BTreeSet<&str>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<VolumeRequests>, Error> {
    let prefix = part.prefix(separate_files);
    // The requests of each volume of the part; `None` for a volume that is not among the names.
    let mut volumes: Vec<Option<Vec<Request>>> = Vec::new();
    let read = each_batch(part, spec, |batch, reader| {
        let new = reader.volumes().names().skip(volumes.len());
        let new: Vec<_> = new
            .map(|name| names.contains(format!("{prefix}{name}").as_str()).then(Vec::new))
            .collect();
        volumes.extend(new);
        for request in batch {
            if let Some(requests) = &mut volumes[request.volume as usize] {
                // The number of a volume differs between parts.
                requests.push(Request { volume: 0, ..*request });
            }
        }
        Ok::<_, Error>(go_on())
    });
    let Some(reader) = read? else { return Ok(None) };
    let mut found = VolumeRequests::default();
    for (name, requests) in reader.volumes().names().zip(volumes) {
        if let Some(requests) = requests.filter(|requests| !requests.is_empty()) {
            let of_volume = found.0.entry(format!("{prefix}{name}")).or_default();
            of_volume.insert((part.file, part.part), requests);
        }
    }
    Ok(Some(found))
}

impl VolumeRequests {
    /// Adds the requests of another part.
    pub fn merge(&mut self, other: VolumeRequests) {
        for (name, parts) in other.0 {
            self.0.entry(name).or_default().extend(parts);
        }
    }

    /// Removes and returns the requests of a volume, ordered as in the statistics of a collection:
    /// files by the time of their first request of the volume, then by number.
    pub fn take(&mut self, name: &str) -> Vec<Request> {
        let parts: Vec<_> = self.0.remove(name).unwrap_or_default().into_iter().collect();
        let mut files: Vec<_> = parts.chunk_by(|one, next| one.0.0 == next.0.0).collect();
        files.sort_by_key(|parts| parts[0].1[0].at);
        files.into_iter().flatten().flat_map(|(_, requests)| requests).copied().collect()
    }
}
