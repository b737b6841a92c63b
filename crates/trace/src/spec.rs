//! A trace as it is asked for: where it is, how it is read, and what is made of it.

use flashscope_block::{Bytes, nearest};
use flashscope_workload::playback::FIELDS;

use super::format::{self, Format};
use super::merge::Merge;
use super::opened::{Progress, Trace};
use super::transform;
use super::{Error, OnBad, Options, Source};

/// A field that cannot be what it is set to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// There is no such field.
    #[error(
        "a trace has no field `{name}`{}; there are: {}",
        nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default(),
        FIELDS.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The valid name that is most like it.
        nearest: Option<&'static str>,
    },
    /// A field has a value that cannot be.
    #[error("`{name}` is `{value}`: {rule}")]
    Invalid {
        /// The field.
        name: &'static str,
        /// Its value.
        value: String,
        /// What a value must fulfil.
        rule: String,
    },
}

/// How a trace is read and what is made of it: a value for each of [`FIELDS`].
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
    /// Where there is no such field, or the value cannot be.
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

    /// Sets a field that there is; returns what is wrong with its value.
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
                Bytes(0) => return Err("it must be at least a byte".into()),
                sector => self.options.sector = Some(sector),
            },
            _ => self.transforms.set(name, value)?,
        }
        Ok(())
    }

    /// Onto a drive of how many bytes a trace is mapped, where it has to be mapped and no size was
    /// set.
    pub fn fit(&mut self, capacity: Bytes) {
        self.transforms.fit(capacity);
    }

    /// Whether addresses of all volumes are put on one drive.
    pub fn is_remapped(&self) -> bool {
        self.transforms.is_remapped()
    }

    /// Opens the trace: files (or `-`, standard input), of which several are merged by time, each
    /// with its volumes.
    ///
    /// # Errors
    /// Where a file cannot be opened or is no trace.
    pub fn open(&self, files: &[impl AsRef<str>]) -> Result<Trace, Error> {
        let files: Vec<String> = files.iter().map(|file| file.as_ref().to_string()).collect();
        if self.transforms.repeat == 1 {
            return self.open_once(&files);
        }
        if files.iter().any(|file| file == "-") {
            let reason = "it can be read but once, not repeated: write it to a file first";
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

    /// Opens the trace in these sources, as [`Spec::open`], but for repetition.
    ///
    /// # Errors
    /// Where one is no trace.
    pub fn open_sources(&self, sources: Vec<Source>) -> Result<Trace, Error> {
        let mut progress = Progress::default();
        let mut readers = Vec::new();
        let mut formats = Vec::new();
        for source in sources {
            progress.add(source.position());
            let name = source.name().to_string();
            let (format, reader) = match self.format {
                Some(format) => (format, format::open_as(format, source, self.options)?),
                None => format::open(source, self.options)?,
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
    let meant = nearest(value, names());
    let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    format!("{meant}the formats are {}", names().collect::<Vec<_>>().join(", "))
}
