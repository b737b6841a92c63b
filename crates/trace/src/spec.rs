//! The specification of a trace: its files, the reader's options and the transforms.

use flashscope_block::{Bytes, did_you_mean, nearest, suggestion};
use flashscope_workload::playback::FIELDS;

use super::csv_columns::Columns;
use super::format::{self, CSV, Format};
use super::merge::Merge;
use super::opened::{Progress, Trace};
use super::transform;
use super::{Error, OnBad, Options, Source};

/// An invalid field or value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The field does not exist.
    #[error(
        "a trace has no field `{name}`{}; choose one of: {}",
        did_you_mean(*nearest),
        FIELDS.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The name given.
        name: String,
        /// The most similar valid name.
        nearest: Option<&'static str>,
    },
    /// The value of a field is invalid.
    #[error("`{name}` is `{value}`: {rule}")]
    Invalid {
        /// The field.
        name: &'static str,
        /// The value.
        value: String,
        /// The requirement for a value.
        rule: String,
    },
}

/// The reader's options and transforms: a value for each of [`FIELDS`].
#[derive(Debug, Clone, Default)]
pub struct Spec {
    format: Option<&'static Format>,
    options: Options,
    transforms: transform::Settings,
}

impl Spec {
    /// Sets a field by its name.
    ///
    /// # Errors
    /// The field does not exist, or the value is invalid.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), FieldError> {
        let Some(field) = FIELDS.iter().find(|field| field.name == name) else {
            let nearest = nearest(name, FIELDS.iter().map(|field| field.name));
            return Err(FieldError::Unknown { name: name.into(), nearest });
        };
        self.set_known(field.name, value).map_err(|rule| FieldError::Invalid {
            name: field.name,
            value: value.into(),
            rule,
        })
    }

    /// Sets an existing field; returns a message if the value is invalid.
    fn set_known(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "format" => {
                self.format = Some(format::find(value).ok_or_else(|| unknown_format(value))?);
            }
            "on_bad_line" => {
                self.options.on_bad = match value {
                    "stop" => OnBad::Stop,
                    "skip" => OnBad::Skip,
                    _ => return Err("it must be `stop` or `skip`".into()),
                };
            }
            "sector" => match value.parse::<Bytes>().map_err(|error| error.to_string())? {
                Bytes(0) => return Err("it must be at least 1 byte".into()),
                sector => self.options.sector = Some(sector),
            },
            _ if Columns::has(name) => self.options.columns.set(name, value)?,
            _ => self.transforms.set(name, value)?,
        }
        Ok(())
    }

    /// Sets the size of the drive in bytes, to which `remap` maps, unless the user set one.
    pub fn fit(&mut self, capacity: Bytes) {
        self.transforms.fit(capacity);
    }

    /// Returns true if one drive receives the addresses of all volumes.
    pub(crate) fn is_remapped(&self) -> bool {
        self.transforms.is_remapped()
    }

    /// Returns the format that the user set.
    #[cfg(feature = "files")]
    pub(crate) fn format(&self) -> Option<&'static Format> {
        self.format
    }

    /// Returns true if the user named the columns of delimited text.
    #[cfg(feature = "files")]
    pub(crate) fn has_columns(&self) -> bool {
        !self.options.columns.is_empty()
    }

    /// Opens the trace in these files (`-` is standard input). Merges several files by time; the
    /// volumes of each file stay separate.
    ///
    /// # Errors
    /// A file cannot be opened or is not a trace.
    pub fn open(&self, files: &[impl AsRef<str>]) -> Result<Trace, Error> {
        let files: Vec<String> = files.iter().map(|file| file.as_ref().to_string()).collect();
        if self.transforms.repeat == 1 {
            return self.open_once(&files);
        }
        if files.iter().any(|file| file == "-") {
            let reason = "it can be read only once, not repeated: write it to a file first";
            return Err(Error::Damaged { name: "standard input".into(), reason: reason.into() });
        }
        let first = self.open_once(&files)?;
        let spec = self.clone();
        let reopen = move || Ok(spec.open_once(&files)?.into_reader());
        Ok(first.repeated(Box::new(reopen), self.transforms.repeat))
    }

    fn open_once(&self, files: &[String]) -> Result<Trace, Error> {
        let sources = files.iter().map(|file| Source::open(file));
        self.open_sources(sources.collect::<Result<_, _>>()?)
    }

    /// Opens the trace in these sources like [`Spec::open`], but without repetition.
    ///
    /// # Errors
    /// A source is not a trace.
    pub fn open_sources(&self, sources: Vec<Source>) -> Result<Trace, Error> {
        let named = !self.options.columns.is_empty();
        if let Some(format) = self.format.filter(|format| named && format.name != CSV.name) {
            return Err(Error::Field(FieldError::Invalid {
                name: "format",
                value: format.name.into(),
                rule: format!("the columns of a trace can only be given with `{}`", CSV.name),
            }));
        }
        let format = if named { Some(&CSV) } else { self.format };
        let mut progress = Progress::default();
        let mut readers = Vec::new();
        let mut formats = Vec::new();
        for source in sources {
            progress.add(source.position());
            let name = source.name().to_string();
            let (format, reader) = match format {
                Some(format) => (format, format::open_as(format, source, self.options.clone())?),
                None => format::open(source, self.options.clone())?,
            };
            formats.push(format.name);
            readers.push((name, reader));
        }
        let reader = match readers.len() {
            1 => readers.remove(0).1,
            _ => Box::new(Merge::new(readers, self.transforms.merge)?),
        };
        Ok(Trace::new(self.transforms.apply(reader)?, formats, progress))
    }
}

fn unknown_format(value: &str) -> String {
    let names = || format::FORMATS.iter().map(|format| format.name);
    let near = suggestion(value, names());
    format!("the formats are {}{near}", names().collect::<Vec<_>>().join(", "))
}
