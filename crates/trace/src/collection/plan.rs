//! The division of files into parts.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use flashscope_block::Bytes;
use flashscope_document::collection::{CollectionPlan, PlannedFile};

use crate::{Error, FieldError, Source, Spec, format};

/// A part of a collection that can be read independently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The number of the file in the plan.
    pub file: u32,
    /// The number of the part in the file.
    pub part: u32,
    /// The path of the file.
    pub path: String,
    /// The name of the format, if the file is divided into several parts.
    pub format: Option<String>,
    /// The bytes of the part; `None` for the whole file.
    pub range: Option<Range<u64>>,
    /// The size in bytes, before decompression.
    pub size: Bytes,
}

/// Divides a file into parts of about `part_size` bytes. Only uncompressed text whose lines are
/// independent can be divided.
///
/// # Errors
/// The file cannot be read.
pub fn plan_file(path: &str, spec: &Spec, part_size: Bytes) -> Result<PlannedFile, Error> {
    let failed = |source| Error::Io { action: "read", name: path.into(), source };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    let mut planned =
        PlannedFile { path: path.into(), size: Bytes(size), parts: vec![Bytes(0)], format: None };
    if size <= part_size.0 {
        return Ok(planned);
    }
    let Some(format) = divisible(path, spec)? else { return Ok(planned) };
    let mut file = File::open(path).map_err(failed)?;
    let steps = size.div_ceil(part_size.0);
    for step in 1..steps {
        let start = line_start(&mut file, step * part_size.0).map_err(failed)?;
        if start < size && planned.parts.last() != Some(&Bytes(start)) {
            planned.parts.push(Bytes(start));
        }
    }
    planned.format = (planned.parts.len() > 1).then(|| format.into());
    Ok(planned)
}

/// Returns the format of a file that can be divided at the ends of lines.
fn divisible(path: &str, spec: &Spec) -> Result<Option<&'static str>, Error> {
    let source = Source::open(path)?;
    if source.compression().is_some() || spec.has_columns() {
        return Ok(None);
    }
    let format = match spec.format() {
        Some(format) => format,
        // The reader of the first part reports an unknown format.
        None => match format::detect(&source) {
            Some(format) => format,
            None => return Ok(None),
        },
    };
    Ok(format.has_independent_lines.then_some(format.name))
}

/// Returns the first start of a line at or after `position`.
fn line_start(file: &mut File, position: u64) -> std::io::Result<u64> {
    let before = position - 1;
    file.seek(SeekFrom::Start(before))?;
    let length = BufReader::new(file).skip_until(b'\n')?;
    Ok(before + length as u64)
}

/// Returns the parts in the order of the plan.
pub fn parts(plan: &CollectionPlan) -> Vec<Part> {
    let of_file = |(number, file): (u32, &PlannedFile)| -> Vec<Part> {
        let ends = file.parts.iter().skip(1).chain([&file.size]);
        let part = |(part, (start, end)): (u32, (&Bytes, &Bytes))| Part {
            file: number,
            part,
            path: file.path.clone(),
            format: file.format.clone(),
            range: (file.parts.len() > 1).then_some(start.0..end.0),
            size: Bytes(end.0.saturating_sub(start.0)),
        };
        (0u32..).zip(file.parts.iter().zip(ends)).map(part).collect()
    };
    (0u32..).zip(&plan.files).flat_map(of_file).collect()
}

impl Part {
    /// Opens the source of the part, and returns the reader's options for it.
    pub(super) fn open(&self, spec: &Spec) -> Result<(Source, Spec), Error> {
        let mut spec = spec.clone();
        let Some(Range { start, end }) = self.range.clone() else {
            return Ok((Source::open(&self.path)?, spec));
        };
        if let Some(format) = &self.format {
            spec.set("format", format).map_err(|error: FieldError| Error::Field(error))?;
        }
        let failed = |source| Error::Io { action: "read", name: self.path.clone(), source };
        let mut file = File::open(&self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let content = std::io::Read::take(file, end - start);
        Ok((Source::of(&self.path, content, Some(end - start))?, spec))
    }

    /// Returns the text before the names of its volumes: the name of the file without its folders
    /// and a colon if `separate_files`, else nothing.
    pub(super) fn prefix(&self, separate_files: bool) -> String {
        let path = Path::new(&self.path);
        match path.file_name() {
            Some(name) if separate_files => format!("{}:", name.to_string_lossy()),
            _ => String::new(),
        }
    }

    /// Returns the number of lines before the part.
    pub(super) fn lines_before(&self) -> Result<u64, Error> {
        let Some(range) = &self.range else { return Ok(0) };
        let failed = |source| Error::Io { action: "read", name: self.path.clone(), source };
        let file = File::open(&self.path).map_err(failed)?;
        let mut before = BufReader::new(std::io::Read::take(file, range.start));
        let mut lines = 0;
        while before.skip_until(b'\n').map_err(failed)? > 0 {
            lines += 1;
        }
        Ok(lines)
    }
}
