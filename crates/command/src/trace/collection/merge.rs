//! Merges the partial statistics of all parts.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_document::collection::{CollectionFile, CollectionTotal, VolumeStatistics};
use flashscope_result::collection::CollectionFolder;
use flashscope_trace::collection::{Part, PartLimits, PartOutcome, merge_segments};
use flashscope_trace::statistics::partial::Total;

use super::super::failure;
use crate::{Failure, Progress, Step, Unit, interrupted};

/// The maximum number of segments to merge at once, far below the usual limit of open files.
const MAX_SEGMENTS: usize = 128;

/// The merging of segments.
pub(super) struct Merging<'a> {
    pub folder: &'a CollectionFolder,
    pub limits: PartLimits,
    pub stop: &'a AtomicBool,
}

impl Merging<'_> {
    /// Merges the segments of all files without a problem. Returns the total and the volumes.
    pub(super) fn run(
        &self,
        parts: &[Part],
        outcomes: &[PartOutcome],
        files: &[CollectionFile],
        sink: &mut dyn Progress,
    ) -> Result<(CollectionTotal, Vec<VolumeStatistics>), Failure> {
        let mut segments = Vec::new();
        for (part, outcome) in parts.iter().zip(outcomes) {
            if files[part.file as usize].problem.is_none() {
                segments.extend(
                    (0..outcome.segments).map(|nth| self.folder.segment(part.file, part.part, nth)),
                );
            }
        }
        let segments = self.reduce(segments, sink)?;
        let mut total = Total::default();
        let mut done = 0;
        for volume in merge_segments(&segments, self.limits.sample_pages).map_err(failure)? {
            self.check()?;
            total.push(volume.map_err(failure)?);
            done += 1;
            sink.show(&Step::of("merging: volumes", done, None, Unit::Count));
        }
        Ok(total.finish())
    }

    /// Merges groups of segments until all can be open at once.
    fn reduce(
        &self,
        mut segments: Vec<PathBuf>,
        sink: &mut dyn Progress,
    ) -> Result<Vec<PathBuf>, Failure> {
        let mut number = 0;
        while segments.len() > MAX_SEGMENTS {
            let mut next = Vec::new();
            for group in segments.chunks(MAX_SEGMENTS) {
                let path = self.folder.merged_segment(number);
                self.merge_into(&path, group)?;
                next.push(path);
                number += 1;
                let done = u64::from(number);
                sink.show(&Step::of("merging: groups of parts", done, None, Unit::Count));
            }
            segments = next;
        }
        Ok(segments)
    }

    fn merge_into(&self, path: &std::path::Path, group: &[PathBuf]) -> Result<(), Failure> {
        let volumes = merge_segments(group, self.limits.sample_pages).map_err(failure)?;
        let lines = volumes.map(|volume| {
            self.check().map_err(|_| io::Error::from(io::ErrorKind::Interrupted))?;
            let volume = volume.map_err(io::Error::other)?;
            Ok(volume.to_line()?)
        });
        let written = self.folder.write_segment(path, lines);
        self.check()?;
        Ok(written?)
    }

    fn check(&self) -> Result<(), Failure> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(interrupted("parts remain")),
            false => Ok(()),
        }
    }
}
