//! Files of the paper's own simulator, the SSD extension of DiskSim: parameters, statistics and
//! traces.

use std::path::{Path, PathBuf};

use flashscope_block::{Bytes, Data, Io, Nanos, Op};

const SECTOR: u64 = 512;

/// Returns the text of a compressed file of the reference data, from `$FLASHSCOPE_DATA` or from
/// `shared/data` beside the checkout. If the file is missing, prints a message and returns `None`,
/// or panics if `$FLASHSCOPE_DATA` is set.
fn text(path: &str) -> Option<String> {
    #[allow(clippy::disallowed_methods)] // the environment may name the folder of the data
    let told = std::env::var_os("FLASHSCOPE_DATA").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = told.clone().unwrap_or_else(beside).join(path);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) => {
            assert!(told.is_none(), "FLASHSCOPE_DATA: {}: {error}", path.display());
            #[allow(clippy::print_stderr)] // reports that the test did not run
            {
                eprintln!("skipped: {}: {error}; set FLASHSCOPE_DATA", path.display());
            }
            return None;
        }
    };
    let bytes = zstd::decode_all(file).expect("reference data are whole");
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A run of the paper's simulator: its parameters and its statistics.
pub(crate) struct Run {
    parameters: String,
    statistics: String,
}

impl Run {
    /// Loads the run `name`. Prints a message and returns `None` if the reference data is missing.
    pub(crate) fn load(name: &str) -> Option<Run> {
        let file = |kind| text(&format!("devices/disksim_ssd_reference/ssd-{name}.{kind}.zst"));
        Some(Run { parameters: file("parv")?, statistics: file("outv")? })
    }

    /// Returns the first parameter of this name after the beginning of `component`.
    pub(crate) fn parameter_of(&self, component: &str, name: &str) -> f64 {
        let from = self.parameters.find(component).unwrap_or_else(|| panic!("no {component}"));
        let value = self.parameters[from..].lines().find_map(|line| {
            let value = line.trim().strip_prefix(name)?.trim_start().strip_prefix('=')?;
            value.trim().trim_end_matches(',').parse().ok()
        });
        value.unwrap_or_else(|| panic!("no parameter {name} of {component}"))
    }

    /// Returns the first parameter of this name after the beginning of the drive's parameters,
    /// which the parameters of the requests follow.
    pub(crate) fn parameter(&self, name: &str) -> f64 {
        self.parameter_of("ssdmodel_ssd SSD", name)
    }

    /// Returns a parameter that is a whole number.
    pub(crate) fn count(&self, name: &str) -> u32 {
        let value = self.parameter(name);
        assert!(value.fract() == 0.0 && value >= 0.0, "{name} = {value}");
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked above
        let count = value as u32;
        count
    }

    /// Returns the mean response time of all requests, in nanoseconds.
    pub(crate) fn mean_response(&self) -> f64 {
        self.values("Overall I/O System Response time average")[0] * 1e6
    }

    /// Returns the longest response time of all requests, in nanoseconds.
    pub(crate) fn longest_response(&self) -> f64 {
        self.values("Overall I/O System Response time maximum")[0] * 1e6
    }

    /// Returns a statistic of each package ("elem"), in order.
    pub(crate) fn by_package(&self, statistic: &str) -> Vec<f64> {
        let of_package = |package| format!("ssd  #0 elem #{package}   {statistic}");
        (0..self.count("Flash chip elements"))
            .map(|package| self.values(&of_package(package))[0])
            .collect()
    }

    /// Returns the numbers after the first occurrence of a statistic's name and colon.
    fn values(&self, statistic: &str) -> Vec<f64> {
        let line = self.statistics.lines().find_map(|line| {
            let values = line.strip_prefix(statistic)?.trim_start().strip_prefix(':')?;
            Some(values.split_whitespace().flat_map(str::parse).collect())
        });
        line.unwrap_or_else(|| panic!("no statistic {statistic}"))
    }
}

/// Returns the requests of a trace in DiskSim's format: milliseconds, drive, first sector, sectors,
/// and flags whose lowest bit is set for a read.
pub(crate) fn trace(path: &str) -> Option<Vec<Io>> {
    let parse = |line: &str| {
        let mut fields = line.split_whitespace();
        let at: f64 = fields.next()?.parse().ok()?;
        let mut whole = fields.skip(1).map_while(|field| field.parse::<u64>().ok());
        let (sector, sectors, flags) = (whole.next()?, whole.next()?, whole.next()?);
        Some(Io {
            op: if flags & 1 == 1 { Op::Read } else { Op::Write },
            stream: 0,
            offset: Bytes(sector * SECTOR),
            len: Bytes(sectors * SECTOR),
            at: milliseconds(at),
            data: Data::Random,
        })
    };
    let text = text(path)?;
    Some(text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("{line}"))).collect())
}

/// Converts a time of DiskSim, which is in milliseconds.
pub(crate) fn milliseconds(time: f64) -> Nanos {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // times are positive
    let nanos = (time * 1e6).round() as u64;
    Nanos(nanos)
}
