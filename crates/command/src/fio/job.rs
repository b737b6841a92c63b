//! Translates the options of a fio job to a job of flashscope.

use anyhow::{Result, anyhow, bail};
use flashscope_block::{Bytes, Nanos, Op};
use flashscope_workload::job::{Job, JobAddresses, ThinkTime};

use super::file::Section;
use super::notation::{Size, size, time};
use super::options::Values;
use super::sizes;

/// The engines of fio that wait for each IO.
const WAITING: &[&str] = &["psync", "sync", "vsync", "pvsync", "pvsync2"];

/// The engines of fio that keep several IOs in flight.
const QUEUEING: &[&str] = &["libaio", "io_uring", "io_uring_cmd", "null"];

/// A job before the size of its drive is known.
#[derive(Debug, Clone)]
pub(super) struct JobSpec {
    /// The job, without its target space and its bytes.
    pub job: Job,
    offset: Size,
    pub size: Option<Size>,
    shift: Size,
    io_size: Option<Size>,
    loops: u64,
    is_time_based: bool,
    /// The seed, if the file has one.
    pub seed: Option<u64>,
    /// The time at the start whose IOs are recorded, but not counted.
    pub ramp: Option<Nanos>,
    /// True if the job waits for the jobs before it.
    pub starts_group: bool,
    pub place: Place,
    pub notes: Vec<String>,
}

/// The drive of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    /// The file or device, with its folder.
    pub file: Option<String>,
    pub engine: String,
    pub is_polled: bool,
    pub is_direct: bool,
}

impl JobSpec {
    /// Reads the options of a section, which must be known.
    pub(super) fn read(section: &Section) -> Result<JobSpec> {
        let values = Values::of(section);
        let (op, is_mixed, is_random) = direction(&values)?;
        let reads_percent = match (is_mixed, op) {
            (true, _) => reads(&values)?,
            (false, Op::Read) => 100,
            (false, _) => 0,
        };
        let op = if op == Op::Read { Op::Write } else { op };
        let [read_sizes, write_sizes, trim_sizes] = io_sizes(&values)?;
        let other_sizes = if op == Op::Trim { trim_sizes } else { write_sizes };
        let occurring = |sizes, occurs: bool| if occurs { sizes } else { vec![] };
        let place = place(&values)?;
        let mut notes = Vec::new();
        let queue_depth = queue_depth(&values, &place, &section.name, &mut notes)?;
        let end = End::read(&values)?;
        let at_least_one = |name: &str, default: u64| -> Result<u64> {
            let parse = |text: &str| text.parse().ok().filter(|number| *number > 0);
            Ok(values.parsed(name, "a whole number, at least 1", parse)?.unwrap_or(default))
        };
        let processes = u16::try_from(at_least_one("numjobs", 1)?);
        let seconds = |text: &str| time(text, Nanos::secs(1));
        let job = Job {
            name: section.name.clone(),
            processes: processes
                .map_err(|_| values.wrong("numjobs", "it must be at most 65535"))?,
            process_shift: Bytes(0),
            places: places(&values, is_random)?,
            reads_percent,
            op,
            read_sizes: occurring(read_sizes, reads_percent > 0),
            other_sizes: occurring(other_sizes, reads_percent < 100),
            target_offset: Bytes(0),
            target_size: Bytes(0),
            end: None,
            most_ios: end.most_ios,
            time: end.time,
            delay: values.parsed("startdelay", "a time", seconds)?.unwrap_or_default(),
            think: think(&values, queue_depth, at_least_one("thinktime_blocks", 1)?)?,
            flush_every: flush_every(&values)?,
            queue_depth,
            seed: 0,
        };
        let a_size = |name| values.parsed(name, "a size or a percentage, such as 1g or 50%", size);
        let seed = values.parsed("randseed", "a whole number", |text| text.parse().ok())?;
        Ok(JobSpec {
            job,
            offset: a_size("offset")?.unwrap_or(Size::Bytes(0)),
            size: a_size("size")?,
            shift: a_size("offset_increment")?.unwrap_or(Size::Bytes(0)),
            io_size: a_size("io_size")?,
            loops: at_least_one("loops", 1)?,
            is_time_based: end.is_time_based,
            seed,
            ramp: end.ramp,
            starts_group: values.flag("stonewall")?.unwrap_or(false),
            place,
            notes,
        })
    }

    /// Returns the end of the space that the job uses, if it does not depend on the drive.
    pub(super) fn absolute_end(&self) -> Option<Bytes> {
        let (Size::Bytes(offset), Size::Bytes(shift), Some(Size::Bytes(size))) =
            (self.offset, self.shift, self.size)
        else {
            return None;
        };
        let shifts = shift.saturating_mul(u64::from(self.job.processes) - 1);
        Some(Bytes(offset.saturating_add(shifts).saturating_add(size)))
    }

    /// Returns the job on a drive of `capacity` bytes.
    ///
    /// # Errors
    /// If its space begins after the end of the drive.
    pub(super) fn resolve(&self, capacity: Bytes) -> Result<Job> {
        let (offset, shift) = (self.offset.on(capacity), self.shift.on(capacity));
        let unit = self.job.single_size().unwrap_or(Bytes(1));
        let shifts = shift.0.saturating_mul(u64::from(self.job.processes) - 1);
        let begin = Bytes(offset.0.saturating_add(shifts));
        let name = &self.job.name;
        let room = capacity.0.checked_sub(begin.0).filter(|room| *room > 0).ok_or_else(|| {
            anyhow!(
                "job `{name}`: its last process begins at {begin}, and the drive ends at {capacity}: \
                 lower `offset`, `offset_increment` or `numjobs`"
            )
        })?;
        let whole = |size: Bytes| size.round_down(unit);
        let target_size = whole(self.size.map_or(Bytes(room), |size| size.on(capacity)));
        if target_size == Bytes(0) {
            bail!("job `{name}`: an IO of {unit} does not fit in its `size`");
        }
        let once = self.io_size.map_or(target_size, |size| whole(size.on(capacity)));
        let end = Bytes(once.0.saturating_mul(self.loops));
        Ok(Job {
            process_shift: shift,
            target_offset: offset,
            target_size,
            end: (!self.is_time_based).then_some(end),
            ..self.job.clone()
        })
    }
}

/// The end of a job.
struct End {
    time: Option<Nanos>,
    ramp: Option<Nanos>,
    most_ios: Option<u64>,
    is_time_based: bool,
}

impl End {
    fn read(values: &Values) -> Result<End> {
        let seconds = |text: &str| time(text, Nanos::secs(1));
        let a_time = "a time, such as 30 or 2m";
        let runtime = values.parsed("runtime", a_time, seconds)?.filter(|time| time.0 > 0);
        let ramp = values.parsed("ramp_time", a_time, seconds)?.filter(|time| time.0 > 0);
        let is_time_based = values.flag("time_based")?.unwrap_or(false);
        if is_time_based && runtime.is_none() {
            return Err(values.wrong("time_based", "it needs a `runtime`"));
        }
        if is_time_based {
            let rule = "fio ignores it with `time_based`; remove one of the two";
            for name in ["number_ios", "io_size", "loops"] {
                values.refuse(name, rule)?;
            }
        }
        let whole = |text: &str| text.parse::<u64>().ok();
        let most_ios = values.parsed("number_ios", "a whole number", whole)?;
        let time = runtime.map(|time| Nanos(time.0.saturating_add(ramp.unwrap_or_default().0)));
        Ok(End { time, ramp, most_ios: most_ios.filter(|ios| *ios > 0), is_time_based })
    }
}

/// Returns the operation, true if reads are mixed with it, and true if offsets are random.
fn direction(values: &Values) -> Result<(Op, bool, bool)> {
    let of = |text: &str| {
        Some(match text {
            "read" => (Op::Read, false, false),
            "write" => (Op::Write, false, false),
            "trim" => (Op::Trim, false, false),
            "randread" => (Op::Read, false, true),
            "randwrite" => (Op::Write, false, true),
            "randtrim" => (Op::Trim, false, true),
            "rw" | "readwrite" => (Op::Write, true, false),
            "randrw" => (Op::Write, true, true),
            _ => return None,
        })
    };
    let what = "read, write, trim, randread, randwrite, randtrim, rw or randrw";
    Ok(values.parsed("rw", what, of)?.unwrap_or((Op::Read, false, false)))
}

/// Returns the percentage of reads of a mix.
fn reads(values: &Values) -> Result<u8> {
    let percent = |text: &str| text.parse::<u8>().ok().filter(|percent| *percent <= 100);
    let of = |name| values.parsed(name, "a percentage from 0 to 100", percent);
    let (reads, writes) = (of("rwmixread")?, of("rwmixwrite")?.map(|writes| 100 - writes));
    let is_later = values.line("rwmixwrite") > values.line("rwmixread");
    Ok(if is_later { writes.or(reads) } else { reads.or(writes) }.unwrap_or(50))
}

fn io_sizes(values: &Values) -> Result<sizes::PerOperation> {
    let parse = |name: &str, parse: fn(&str) -> Result<sizes::PerOperation>| {
        let text = values.text(name)?;
        text.map(|text| parse(text).map_err(|error| values.wrong(name, &error.to_string())))
            .transpose()
    };
    let found = [
        ("bs", parse("bs", sizes::fixed)?),
        ("bsrange", parse("bsrange", sizes::range)?),
        ("bssplit", parse("bssplit", sizes::split)?),
    ];
    // A later option replaces an earlier one.
    let found = found.into_iter().filter_map(|(name, sizes)| Some((values.line(name)?, sizes?)));
    let last = found.max_by_key(|(line, _)| *line);
    Ok(last.map_or_else(sizes::default, |(_, sizes)| sizes))
}

fn places(values: &Values, is_random: bool) -> Result<JobAddresses> {
    let independent = values.flag("norandommap")?.unwrap_or(false);
    let number = |text: &str| text.parse::<f64>().ok();
    let law = |text: &str| {
        Some(match text.split_once(':') {
            None if text == "random" && independent => JobAddresses::Independent,
            None if text == "random" => JobAddresses::Covering,
            Some(("zipf", exponent)) => JobAddresses::Zipf { exponent: number(exponent)? },
            Some(("pareto", share)) => JobAddresses::Pareto { share: number(share)? },
            _ => return None,
        })
    };
    let what = "random, zipf:EXPONENT or pareto:SHARE";
    let law = values.parsed("random_distribution", what, law)?;
    Ok(match (is_random, law) {
        (false, _) => JobAddresses::Sequential,
        (true, Some(law)) => law,
        (true, None) if independent => JobAddresses::Independent,
        (true, None) => JobAddresses::Covering,
    })
}

fn think(values: &Values, queue_depth: u32, ios: u64) -> Result<Option<ThinkTime>> {
    let pause = values.parsed("thinktime", "a time", |text| time(text, Nanos::micros(1)))?;
    let Some(pause) = pause.filter(|pause| pause.0 > 0) else { return Ok(None) };
    if queue_depth > 1 {
        let rule = "fio drains its IOs before a pause, and flashscope does not: set `iodepth=1`";
        return Err(values.wrong("thinktime", rule));
    }
    Ok(Some(ThinkTime { pause, ios }))
}

fn flush_every(values: &Values) -> Result<Option<u64>> {
    let whole = |name| values.parsed(name, "a whole number", |text| text.parse::<u64>().ok());
    let (sync, data) = (whole("fsync")?, whole("fdatasync")?);
    Ok(sync.filter(|every| *every > 0).or(data.filter(|every| *every > 0)))
}

fn place(values: &Values) -> Result<Place> {
    let known = WAITING.iter().chain(QUEUEING);
    let what = known.copied().collect::<Vec<_>>().join(", ");
    let parse = |text: &str| {
        WAITING.iter().chain(QUEUEING).any(|known| *known == text).then(|| text.to_owned())
    };
    let engine = values.parsed("ioengine", &format!("one of {what}"), parse)?;
    let name = values.text("filename")?;
    if name.is_some_and(|name| name.contains([':', '?'])) {
        return Err(values.wrong("filename", "name one drive, without `:` and `?` in its name"));
    }
    let directory = values.text("directory")?.filter(|_| !name.is_some_and(|n| n.starts_with('/')));
    let file = name.map(|name| match directory {
        Some(directory) => format!("{}/{name}", directory.trim_end_matches('/')),
        None => name.to_owned(),
    });
    let (direct, buffered) = (values.flag("direct")?, values.flag("buffered")?);
    Ok(Place {
        file,
        engine: engine.unwrap_or_else(|| WAITING[0].into()),
        is_polled: values.flag("hipri")?.unwrap_or(false),
        is_direct: direct.or(buffered.map(|buffered| !buffered)).unwrap_or(false),
    })
}

/// Returns the number of IOs in flight of a process: 1 for an engine that waits for each IO.
fn queue_depth(values: &Values, place: &Place, job: &str, notes: &mut Vec<String>) -> Result<u32> {
    let parse = |text: &str| text.parse::<u32>().ok().filter(|depth| *depth > 0);
    let depth = values.parsed("iodepth", "a whole number, at least 1", parse)?.unwrap_or(1);
    let engine = &place.engine;
    if depth > 1 && WAITING.contains(&engine.as_str()) {
        notes.push(format!(
            "`iodepth={depth}` of job `{job}` has no effect: the engine `{engine}` waits for each IO"
        ));
        return Ok(1);
    }
    Ok(depth)
}
