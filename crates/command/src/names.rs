//! Parses the names and quantities that users type, with suggestions for misspelt names.

use anyhow::{Result, anyhow, bail};
use flashscope_block::{Bytes, Nanos, parse_count, parse_share, suggestion};
use flashscope_measure::MAX_IOS;
use flashscope_measure::pts::{self, TESTS, Test};
use flashscope_workload::uflip::{self, Baseline, MicroBenchmark, PerBaseline};

/// The maximum number of rounds of a test, which keeps run numbers within 32 bits.
pub const MAX_ROUNDS: i64 = 1_000_000;
/// The maximum number of IOs in flight: the largest queue of an NVMe drive.
pub const DEEPEST: i64 = 65_535;
/// The longest IO that a real drive accepts.
const LONGEST_IO: Bytes = Bytes::GIB;

/// The largest page of a grid.
const LARGEST_PAGE: Bytes = Bytes::mib(1);

/// The largest mean length of writes, in pages. The longest write is 16 times as long: 256 MiB with
/// the default page of 4 KiB.
pub(crate) const LONGEST_MEAN: i64 = 4096;
/// The longest pause, a day.
const LONGEST_PAUSE: Nanos = Nanos::secs(24 * 60 * 60);

/// Returns the micro-benchmarks of these names, in the order of the paper; all micro-benchmarks if
/// `names` is empty.
pub fn micro_benchmarks(names: &[String]) -> Result<Vec<&'static MicroBenchmark>> {
    let known = || uflip::all().map(|benchmark| benchmark.name);
    if let Some(unknown) = names.iter().find(|name| uflip::find(name).is_none()) {
        let list: Vec<&str> = known().collect();
        let near = suggestion(unknown, known());
        bail!("`{unknown}` is not a micro-benchmark{near}\nchoose one of: {}", list.join(", "));
    }
    let is_chosen = |name| names.is_empty() || names.iter().any(|chosen| chosen == name);
    Ok(uflip::all().filter(|benchmark| is_chosen(benchmark.name)).collect())
}

/// Returns the test of this name.
pub fn test(name: &str) -> Result<&'static Test> {
    let known = || TESTS.into_iter().map(|test| test.name);
    pts::find(name).ok_or_else(|| {
        let list: Vec<&str> = known().collect();
        let near = suggestion(name, known());
        anyhow!("`{name}` is not a test{near}\nchoose one of: {}", list.join(", "))
    })
}

/// The weights of the classes high, medium and low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights(pub [u32; 3]);

/// Parses the weights of three classes.
pub fn weights(text: &str) -> Result<Weights> {
    let weights: Result<Vec<u32>, _> =
        text.split(',').map(|weight| weight.trim().parse()).collect();
    match weights.as_deref() {
        Ok([high, medium, low]) if *high.min(medium).min(low) > 0 => {
            Ok(Weights([*high, *medium, *low]))
        }
        _ => bail!("give three whole numbers of at least 1, as in `4,2,1`"),
    }
}

/// Parses the size of an IO.
pub fn io_size(text: &str) -> Result<Bytes> {
    let size: Bytes = text.parse()?;
    if size.0 == 0 || size > LONGEST_IO {
        bail!("an IO has at least one logical block and at most {LONGEST_IO}");
    }
    Ok(size)
}

/// Parses the page size of a grid.
pub fn page(text: &str) -> Result<Bytes> {
    let page: Bytes = text.parse()?;
    if page.0 == 0 || page > LARGEST_PAGE {
        bail!("a page has at least one logical block and at most {LARGEST_PAGE}");
    }
    Ok(page)
}

/// Parses free space, relative to the space written.
pub fn free_space(text: &str) -> Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(space) if space > 0.0 && space.is_finite() => Ok(space),
        _ => bail!("give a number above 0, such as `0.1` or `10`"),
    }
}

/// Parses a seed. The option accepts negative numbers, so that this error appears instead of
/// "unknown option".
pub fn seed(text: &str) -> Result<u64> {
    text.parse().map_err(|_| anyhow!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// Parses a pause between bursts or runs.
pub fn pause(text: &str) -> Result<Nanos> {
    let pause: Nanos = text.parse()?;
    if pause > LONGEST_PAUSE {
        bail!("the longest pause is a day, `24h`");
    }
    Ok(pause)
}

/// Parses the length of a measurement; a plain number is in seconds, as for fio.
pub fn duration(text: &str) -> Result<Nanos> {
    let text = text.trim();
    let is_number = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let seconds = is_number.then(|| format!("{text}s"));
    let duration: Nanos = seconds.as_deref().unwrap_or(text).parse()?;
    if duration == Nanos(0) {
        bail!("it must be above 0");
    }
    Ok(duration)
}

/// Parses a share between 0 and 1, both excluded, such as `2%` or `0.02`.
pub fn share(text: &str) -> Result<f64> {
    match parse_share(text.trim()) {
        Some(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => bail!("write it like `2%` or `0.02`: more than 0 and less than 100 %"),
    }
}

/// A statistic of response times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// The quantile at this share (0 to 1).
    Quantile(f64),
}

impl Statistic {
    /// Returns the share of the quantile; `None` for the mean.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Statistic::Mean => None,
            Statistic::Quantile(share) => Some(share),
        }
    }
}

/// Parses `mean` or a percentile such as `p99.9`.
pub fn statistic(text: &str) -> Result<Statistic> {
    if text == "mean" {
        return Ok(Statistic::Mean);
    }
    let percent = text.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
    match percent.filter(|percent| *percent > 0.0 && *percent < 100.0) {
        Some(percent) => Ok(Statistic::Quantile(percent / 100.0)),
        None => bail!("use mean, or a percentile such as p50, p99 and p99.9"),
    }
}

/// Parses a number of IOs.
fn count(text: &str) -> Result<u64> {
    let expected = || anyhow!("`{text}` is not a number of IOs: write it like `5120` or `90k`");
    within_limit(parse_count(text).ok_or_else(expected)?)
}

fn within_limit(count: u64) -> Result<u64> {
    match count <= MAX_IOS {
        true => Ok(count),
        false => bail!("a run has at most {MAX_IOS} IOs"),
    }
}

/// Parses the number of erases of a block, such as `1200` or `3k`.
pub fn erases(text: &str) -> Result<u32> {
    let count = parse_count(text).and_then(|count| u32::try_from(count).ok());
    count.ok_or_else(|| anyhow!("`{text}` is not a number of erases: write it like `1200` or `3k`"))
}

/// Parses a number of IOs, at least one.
pub fn ios(text: &str) -> Result<u64> {
    match count(text)? {
        0 => bail!("at least one IO is needed"),
        count => Ok(count),
    }
}

/// Parses IOCount, such as `1024` or `SR=1024,RW=5120`; a baseline that is not named keeps the
/// paper's value.
pub fn io_count(text: &str) -> Result<PerBaseline> {
    per_baseline(text, PerBaseline { random_write: 5120, ..PerBaseline::same(1024) })
}

/// Parses IOIgnore, such as `128` or `RW=128`; a baseline that is not named ignores nothing.
pub fn io_ignore(text: &str) -> Result<PerBaseline> {
    per_baseline(text, PerBaseline::same(0))
}

fn per_baseline(text: &str, unnamed: PerBaseline) -> Result<PerBaseline> {
    if let Some(same) = parse_count(text) {
        return Ok(PerBaseline::same(within_limit(same)?));
    }
    let mut counts = unnamed;
    for part in text.split(',') {
        let (name, number) = part
            .split_once('=')
            .ok_or_else(|| anyhow!("write it like `1024` or `SR=1024,RW=5120`"))?;
        let field = match Baseline::ALL.into_iter().find(|baseline| baseline.name() == name) {
            Some(Baseline::SequentialRead) => &mut counts.sequential_read,
            Some(Baseline::RandomRead) => &mut counts.random_read,
            Some(Baseline::SequentialWrite) => &mut counts.sequential_write,
            Some(Baseline::RandomWrite) => &mut counts.random_write,
            None => bail!("`{name}` is not a baseline pattern; choose one of: SR, RR, SW, RW"),
        };
        *field = count(number)?;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_get_the_nearest_and_the_list() {
        let message = |name: &str| micro_benchmarks(&[name.into()]).err().unwrap().to_string();
        assert!(message("granulrity").contains("did you mean `granularity`?"));
        assert!(
            message("xyzzy").starts_with("`xyzzy` is not a micro-benchmark\nchoose one of: prep")
        );
        assert_eq!(micro_benchmarks(&[]).unwrap().len(), 10);
        let two = micro_benchmarks(&["pause".into(), "order".into()]).unwrap();
        assert_eq!(two.iter().map(|b| b.name).collect::<Vec<_>>(), ["order", "pause"]);
    }

    #[test]
    fn weights_are_three_whole_numbers() {
        assert_eq!(weights("4, 2,1").unwrap(), Weights([4, 2, 1]));
        for text in ["4,2", "4,2,1,1", "4,2,0", "4,2,x", ""] {
            assert!(
                weights(text).unwrap_err().to_string().contains("three whole numbers"),
                "{text}"
            );
        }
    }

    #[test]
    fn counts_are_parsed_for_one_and_for_each_baseline() {
        assert_eq!(io_count("7").unwrap(), PerBaseline::same(7));
        let some = io_count("SR=1,RW=2").unwrap();
        assert_eq!((some.sequential_read, some.random_read, some.random_write), (1, 1024, 2));
        assert_eq!(io_count("2k").unwrap(), PerBaseline::same(2000));
        assert_eq!(ios("90k").unwrap(), 90_000);
        assert_eq!(erases("3k").unwrap(), 3000);
        assert!(erases("1e9").unwrap_err().to_string().contains("write it like"));
        let ignored = io_ignore("RW=50").unwrap();
        assert_eq!(ignored, PerBaseline { random_write: 50, ..PerBaseline::same(0) });
        for (text, reason) in [
            ("many", "write it like"),
            ("SR=x", "`x` is not a number"),
            ("XX=1", "`XX` is not a baseline"),
        ] {
            assert!(io_count(text).unwrap_err().to_string().contains(reason));
        }
        for (text, reason) in [("0", "at least one"), ("4x", "write it like"), ("2000G", "at most")]
        {
            assert!(ios(text).unwrap_err().to_string().contains(reason), "{text}");
        }
    }
}
