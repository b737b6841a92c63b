//! Transforms of a trace during reading. Each field configures one transform; they apply in the
//! order of [`FIELDS`](flashscope_workload::playback::FIELDS).

mod realign;
mod remap;
mod sample;
mod scale;
mod select;

use flashscope_block::{Bytes, Nanos};

use super::merge::Zero;
use super::reader::{Reader, SkippedInput};
use super::{Error, Request, Volumes};
use realign::{Realign, Shift};
use remap::{Remap, Rule};
use sample::Sample;
use scale::Scale;
use select::Select;

/// The configured transforms: a value for each of [`FIELDS`](flashscope_workload::playback::FIELDS)
/// that changes a trace.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) merge: Zero,
    select: Select,
    sample: Option<f64>,
    sample_seed: u64,
    realign: Option<Shift>,
    scale: Scale,
    remap: Option<Rule>,
    into: Option<Bytes>,
    region: Bytes,
    pub(super) repeat: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            merge: Zero::Same,
            select: Select::default(),
            sample: None,
            sample_seed: 1,
            realign: None,
            scale: Scale::default(),
            remap: None,
            into: None,
            region: Bytes::mib(1),
            repeat: 1,
        }
    }
}

/// Maps the requests of a volume to a drive of `capacity` bytes. Regions of 1 MiB get numbers in
/// the order of their first access, as with the field `remap=compact` of a trace. Returns the size
/// of the accessed regions divided by the capacity: above 1 if they do not fit.
#[cfg(feature = "files")]
pub fn compact(requests: &mut [Request], capacity: Bytes) -> f64 {
    let mut remap = Remap::new(Rule::Compact, capacity, Bytes::mib(1));
    remap.place(requests);
    remap.touched_bytes() as f64 / capacity.0 as f64
}

impl Settings {
    /// Sets a field. Returns a message if the value is invalid.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "merge" => {
                self.merge = match value {
                    "time" => Zero::Same,
                    "start" => Zero::Each,
                    _ => return Err("it must be `time` or `start`".into()),
                }
            }
            "volumes" => self.select.set_volumes(value)?,
            "ops" => self.select.set_ops(value)?,
            "from" => self.select.from = Some(quantity(value)?),
            "until" => self.select.until = Some(quantity(value)?),
            "range" => self.select.set_range(value)?,
            "sample" => {
                self.sample =
                    Some(number(value, "a number above 0 and up to 1", |share: &f64| {
                        *share > 0.0 && *share <= 1.0
                    })?);
            }
            "sample_seed" => self.sample_seed = number(value, "a whole number", |_| true)?,
            "realign" => self.realign = Some(Shift::parse(value)?),
            "space" => self.scale.space = factor(value)?,
            "remap" => self.remap = Some(Rule::parse(value)?),
            "into" => self.into = Some(quantity(value).and_then(at_least_a_page)?),
            "region" => self.region = quantity(value).and_then(at_least_a_page)?,
            "speed" => self.scale.speed = factor(value)?,
            "repeat" => self.repeat = number(value, "a whole number, at least 1", |n| *n > 0)?,
            other => unreachable!("`{other}` is not in the table of fields"),
        }
        Ok(())
    }

    /// Sets the size of the drive in bytes, unless the user set one.
    pub(super) fn fit(&mut self, capacity: Bytes) {
        self.into.get_or_insert(capacity);
    }

    /// Returns true if one drive receives the addresses of all volumes.
    pub(super) fn is_remapped(&self) -> bool {
        self.remap.is_some()
    }

    /// Applies the transforms to `reader`.
    pub(super) fn apply(&self, reader: Box<dyn Reader>) -> Result<Box<dyn Reader>, Error> {
        let remap = match (self.remap, self.into) {
            (None, _) => None,
            (Some(_), Some(into)) if into.0 < PAGE => {
                return Err(unusable(&format!(
                    "`remap` needs a drive of 4 KiB or more, not {into}"
                )));
            }
            (Some(rule), Some(into)) => Some(Remap::new(rule, into, self.region)),
            (Some(_), None) => {
                return Err(unusable("`remap` needs the size of the drive: set `into`"));
            }
        };
        let select = Some(self.select.clone()).filter(|select| *select != Select::default());
        let scale = Some(self.scale.clone()).filter(|scale| *scale != Scale::default());
        let sample = self.sample.map(|share| Sample::new(share, self.sample_seed, self.region));
        if select.is_none()
            && sample.is_none()
            && scale.is_none()
            && remap.is_none()
            && self.realign.is_none()
        {
            return Ok(reader);
        }
        let realign = self.realign.map(Realign::new);
        Ok(Box::new(TransformReader { reader, select, sample, realign, scale, remap }))
    }
}

fn unusable(reason: &str) -> Error {
    Error::Damaged { name: "the trace".into(), reason: reason.into() }
}

fn quantity<T: std::str::FromStr<Err: std::fmt::Display>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|error: T::Err| error.to_string())
}

fn at_least_a_page(size: Bytes) -> Result<Bytes, String> {
    match size.0 >= PAGE {
        true => Ok(size),
        false => Err("it must be at least 4KiB".into()),
    }
}

fn number<T: std::str::FromStr>(
    value: &str,
    rule: &str,
    fulfils: impl Fn(&T) -> bool,
) -> Result<T, String> {
    value.parse().ok().filter(fulfils).ok_or_else(|| format!("it must be {rule}"))
}

fn factor(value: &str) -> Result<f64, String> {
    number(value, "a number from 0.000001 to 1000000", |n: &f64| (1e-6..=1e6).contains(n))
}

/// The page size in bytes: the smallest write of most file systems and drives.
const PAGE: u64 = 4096;

/// A reader that applies the transforms.
struct TransformReader {
    reader: Box<dyn Reader>,
    select: Option<Select>,
    sample: Option<Sample>,
    realign: Option<Realign>,
    scale: Option<Scale>,
    remap: Option<Remap>,
}

impl TransformReader {
    /// Reads until requests remain in a batch, or the trace ends.
    fn read_some(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        loop {
            match &mut self.realign {
                Some(realign) => realign.read(self.reader.as_mut(), batch)?,
                None => self.reader.read(batch)?,
            }
            if batch.is_empty() {
                return self
                    .select
                    .as_ref()
                    .map_or(Ok(()), |select| select.check_volumes(self.reader.volumes()));
            }
            self.change(batch);
            if !batch.is_empty() {
                return Ok(());
            }
        }
    }

    fn change(&mut self, batch: &mut Vec<Request>) {
        if let Some(select) = &mut self.select {
            select.keep(batch, self.reader.volumes());
        }
        if let Some(sample) = &mut self.sample {
            sample.keep(batch);
        }
        if let Some(realign) = &self.realign {
            realign.shift(batch);
        }
        if let Some(scale) = &mut self.scale {
            scale.scale(batch);
        }
        if let Some(remap) = &mut self.remap {
            remap.place(batch);
        }
    }
}

impl Reader for TransformReader {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        let read = self.read_some(batch);
        if read.is_err() {
            // The requests read before the error are valid: transform them, too.
            self.change(batch);
        }
        read
    }

    fn volumes(&self) -> &Volumes {
        self.reader.volumes()
    }

    fn skipped(&self) -> &SkippedInput {
        self.reader.skipped()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.reader.notes();
        notes.extend(self.sample.as_ref().and_then(Sample::note));
        notes.extend(self.realign.as_ref().map(Realign::note));
        notes.extend(self.remap.as_ref().and_then(Remap::note));
        notes
    }
}

/// The time of the first request: the origin of all times.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Start(Option<Nanos>);

impl Start {
    /// Returns the origin, which is that of the first batch that is not empty.
    fn of(&mut self, batch: &[Request]) -> Nanos {
        self.0 = self.0.or_else(|| batch.first().map(|first| first.at));
        self.0.unwrap_or_default()
    }
}
