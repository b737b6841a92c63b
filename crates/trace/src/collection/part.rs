//! Reads a part of a collection.

use flashscope_document::collection::CollectionFile;
use serde::{Deserialize, Serialize};

use super::plan::Part;
use crate::error::Place as BadPlace;
use crate::statistics::partial::{Place, VolumePart};
use crate::{Error, Progress, Reader, Request, SkippedInput, Spec, Trace};

/// The limits of the partial statistics of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimits {
    /// Maximum number of pages of a volume in the sample.
    pub sample_pages: usize,
    /// The number of pages in memory at which a segment ends; each volume counts as 64 more pages.
    /// The statistics do not depend on it.
    pub max_held: usize,
    /// True if the names of volumes begin with the name of their file.
    pub separate_files: bool,
}

/// The memory of a volume besides its pages, in units of the memory of a page.
const VOLUME_PAGES: usize = 64;

/// The outcome of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOutcome {
    /// The number of segments.
    pub segments: u32,
    /// The counts and notes of this part of the file.
    pub file: CollectionFile,
}

/// Receives the number and the lines of each segment.
pub(super) type KeepSegment<'a, E> =
    dyn FnMut(u32, &mut dyn Iterator<Item = std::io::Result<String>>) -> Result<(), E> + 'a;

/// The partial statistics of a part that are in memory.
struct Segment {
    limits: PartLimits,
    place: Place,
    prefix: String,
    /// The volumes by their number in the part; `None` without requests in this segment.
    volumes: Vec<Option<VolumePart>>,
    held: usize,
}

impl Segment {
    fn push(&mut self, batch: &[Request], reader: &dyn Reader) {
        for request in batch {
            let volume = request.volume as usize;
            if volume >= self.volumes.len() {
                self.volumes.resize(volume + 1, None);
            }
            let part = self.volumes[volume].get_or_insert_with(|| {
                self.held += VOLUME_PAGES;
                let name = format!("{}{}", self.prefix, reader.volumes().name(request.volume));
                VolumePart::new(&name, self.limits.sample_pages)
            });
            let before = part.held_pages();
            part.push(request, self.place);
            // The count of pages falls if a sample overflows.
            self.held = (self.held + part.held_pages()).saturating_sub(before);
        }
    }

    fn is_full(&self) -> bool {
        self.held >= self.limits.max_held
    }

    /// Passes the volumes to `keep`, sorted by name, and begins the next segment.
    fn end<E>(&mut self, keep: &mut KeepSegment<'_, E>) -> Result<(), E> {
        let mut volumes: Vec<_> = self.volumes.drain(..).flatten().collect();
        volumes.sort_by(|one, other| one.name().cmp(other.name()));
        let mut lines = volumes.iter().map(|volume| Ok(volume.to_line()?));
        keep(self.place.segment, &mut lines)?;
        self.place.segment += 1;
        self.held = 0;
        Ok(())
    }
}

/// Reads a part, and passes its segments to `keep`: a line for each volume, sorted by name. Calls
/// `go_on` with the bytes read after each batch; returns `None` once `go_on` returns false.
///
/// # Errors
/// A line or a record cannot be read; the error names the file and the line. Also returns the
/// errors of `keep`.
pub fn read_part<E: From<Error>>(
    part: &Part,
    spec: &Spec,
    limits: PartLimits,
    go_on: &mut dyn FnMut(&Progress) -> bool,
    keep: &mut KeepSegment<'_, E>,
) -> Result<Option<PartOutcome>, E> {
    let prefix = part.prefix(limits.separate_files);
    let place = Place { file: part.file, part: part.part, segment: 0 };
    let mut segment = Segment { limits, place, prefix, volumes: Vec::new(), held: 0 };
    let mut requests = 0;
    let read = each_batch::<E>(part, spec, |batch, reader| {
        requests += batch.len() as u64;
        segment.push(batch, reader);
        if segment.is_full() {
            segment.end(keep)?;
        }
        Ok(go_on(reader.progress()))
    });
    let Some(reader) = read? else { return Ok(None) };
    segment.end(keep)?;
    let skipped = reader.skipped();
    let file = CollectionFile {
        path: part.path.clone(),
        format: reader.formats().first().map(|format| (*format).into()),
        requests,
        bad_lines_skipped: skipped.count,
        notes: notes(part, skipped)?,
        problem: None,
    };
    Ok(Some(PartOutcome { segments: segment.place.segment, file }))
}

/// Reads a part, and passes each batch of requests to `take` until it returns false. Returns the
/// reader at the end of the part, or `None` if `take` returned false.
pub(super) fn each_batch<E: From<Error>>(
    part: &Part,
    spec: &Spec,
    mut take: impl FnMut(&[Request], &Trace) -> Result<bool, E>,
) -> Result<Option<Trace>, E> {
    let (source, spec) = part.open(spec)?;
    let mut reader = spec.open_sources(vec![source])?;
    let mut batch = Vec::new();
    loop {
        reader.read(&mut batch).map_err(|error| in_file(part, error))?;
        if batch.is_empty() {
            return Ok(Some(reader));
        }
        if !take(&batch, &reader)? {
            return Ok(None);
        }
    }
}

/// Converts the line number of an error from the part to the file.
fn in_file(part: &Part, error: Error) -> Error {
    match error {
        Error::Bad { name, place, reason } => match part.lines_before() {
            Ok(before) => Error::Bad { name, place: moved(place, before), reason },
            Err(error) => error,
        },
        other => other,
    }
}

/// Converts a place in a part to a place in the file. `before` is the number of lines before the
/// part.
fn moved(place: BadPlace, before: u64) -> BadPlace {
    match place {
        BadPlace::Line(line) => BadPlace::Line(line + before),
        place => place,
    }
}

/// Describes the examples of skipped lines.
fn notes(part: &Part, skipped: &SkippedInput) -> Result<Vec<String>, Error> {
    if skipped.examples.is_empty() {
        return Ok(Vec::new());
    }
    let before = part.lines_before()?;
    let note = |(place, reason): &(BadPlace, _)| format!("{}: {reason}", moved(*place, before));
    Ok(skipped.examples.iter().map(note).collect())
}
