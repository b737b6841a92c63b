//! Merges the segments of partial statistics, one volume at a time.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::statistics::partial::VolumePart;

/// The open segments, each at its next volume.
pub struct SegmentMerge {
    segments: Vec<Segment>,
    sample_pages: usize,
}

struct Segment {
    path: PathBuf,
    lines: Lines<BufReader<File>>,
    next: Option<VolumePart>,
}

/// Opens segments, to merge them.
///
/// # Errors
/// A segment cannot be read.
pub fn merge_segments(paths: &[PathBuf], sample_pages: usize) -> Result<SegmentMerge, Error> {
    let open = |path: &PathBuf| -> Result<Segment, Error> {
        let file = File::open(path).map_err(|source| failed(path, source))?;
        let lines = BufReader::new(file).lines();
        let mut segment = Segment { path: path.clone(), lines, next: None };
        segment.advance(sample_pages)?;
        Ok(segment)
    };
    let segments = paths.iter().map(open).collect::<Result<_, _>>()?;
    Ok(SegmentMerge { segments, sample_pages })
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Io { action: "read", name: path.display().to_string(), source }
}

impl Segment {
    /// Returns the current volume, and reads the next one.
    fn advance(&mut self, sample_pages: usize) -> Result<Option<VolumePart>, Error> {
        // A segment ends with an empty line.
        let next = match self.lines.next() {
            None => None,
            Some(Ok(line)) if line.is_empty() => None,
            Some(line) => {
                let line = line.map_err(|source| failed(&self.path, source))?;
                Some(VolumePart::from_line(&line, sample_pages).map_err(|error| {
                    let reason = format!("it is damaged ({error}): begin the collection anew");
                    Error::Damaged { name: self.path.display().to_string(), reason }
                })?)
            }
        };
        Ok(std::mem::replace(&mut self.next, next))
    }
}

impl Iterator for SegmentMerge {
    type Item = Result<VolumePart, Error>;

    /// Returns the next volume in the order of names, merged from all segments.
    fn next(&mut self) -> Option<Self::Item> {
        let names = self.segments.iter().filter_map(|segment| segment.next.as_ref());
        let name = names.map(VolumePart::name).min()?.to_owned();
        let mut all: Option<VolumePart> = None;
        for segment in &mut self.segments {
            if segment.next.as_ref().is_none_or(|next| next.name() != name) {
                continue;
            }
            match (segment.advance(self.sample_pages), &mut all) {
                (Err(error), _) => return Some(Err(error)),
                (Ok(Some(part)), Some(all)) => all.merge(part),
                (Ok(part), none) => *none = part,
            }
        }
        all.map(Ok)
    }
}
