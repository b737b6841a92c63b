//! The sizes of IOs.

use flashscope_block::Bytes;
use rand::{Rng, RngExt};

use super::WorkloadError;
use super::values::Values;

/// The unit to which sizes of a continuous distribution are rounded, unless an alignment is given:
/// the page of most file systems and drives.
const GRAIN: Bytes = Bytes::kib(4);

const RULE: &str = "write it like `4KiB`, `geometric:8KiB`, `exponential:8KiB`, \
                    `uniform:4KiB..64KiB` or `4KiB:0.7+64KiB:0.3`";

/// The distribution of the size of an IO, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Size {
    /// The same size for every IO.
    Fixed(u64),
    /// A geometric number of grains: each grain is the last with the same probability.
    ///
    /// An exponential distribution that is rounded up to grains is geometric: the two options
    /// differ only in their rate. *geometric* has the requested mean. *exponential* has the
    /// requested mean before rounding, and grain / (1 − e^(−grain/mean)) after it. This is half a
    /// grain more than the mean if the mean is long, and 1.58 grains if the mean is one grain.
    /// Boboila and Desnoyers (MSST 2011, section III) call the lengths of their writes exponential,
    /// in whole pages; the minimum length in their formulas is a page.
    Geometric {
        /// The unit of a size.
        grain: u64,
        /// The logarithm of the probability that a grain is not the last.
        log_of_rest: f64,
        /// The largest size, which the target range still holds.
        most: u64,
    },
    /// Each multiple of the grain from the least to the most, with the same probability.
    Uniform {
        /// The unit of a size.
        grain: u64,
        /// The smallest size, in grains.
        least: u64,
        /// The largest size, in grains.
        most: u64,
    },
    /// A few sizes, each with the sum of its share and the shares before it.
    Mix(Vec<(u64, f64)>),
}

/// The requested sizes, before the grain and the range are known.
enum SizeSpec {
    Fixed(u64),
    Geometric(u64),
    Exponential(u64),
    Uniform(u64, u64),
    Mix(Vec<(u64, f64)>),
}

/// Returns the size and the alignment that the fields `size` and `alignment` request, for a drive
/// with this logical block and a target range of `room` bytes.
pub(super) fn size_and_alignment(
    values: &Values,
    logical_block: Bytes,
    room: Bytes,
) -> Result<(Size, u64), WorkloadError> {
    let asked = asked(values.text("size").unwrap_or_default());
    let asked = asked.map_err(|rule| values.invalid("size", rule))?;
    let alignment: Option<Bytes> = values.quantity("alignment")?;
    if alignment.is_some_and(|a| a.0 == 0 || !a.is_multiple_of(logical_block)) {
        let rule = format!("it must be a multiple of the logical block, {logical_block}");
        return Err(values.invalid("alignment", rule));
    }
    let grain = alignment.unwrap_or(GRAIN.max(logical_block)).0;
    let (size, natural) = match asked {
        SizeSpec::Fixed(size) => (Size::Fixed(size), size),
        SizeSpec::Mix(parts) => {
            let smallest = parts.iter().map(|part| part.0).min().unwrap_or(grain);
            (Size::Mix(cumulated(parts)), smallest)
        }
        SizeSpec::Geometric(mean) if mean < grain => {
            let rule =
                format!("sizes are multiples of {grain} B, and the mean must be at least that");
            return Err(values.invalid("size", rule));
        }
        SizeSpec::Geometric(mean) => {
            check_mean(values, mean, room)?;
            (Size::geometric(mean, grain, room.round_down(Bytes(grain)).0), grain)
        }
        SizeSpec::Exponential(mean) => {
            check_mean(values, mean, room)?;
            let (log_of_rest, most) = (-ratio(grain, mean), room.round_down(Bytes(grain)).0);
            (Size::Geometric { grain, log_of_rest, most }, grain)
        }
        SizeSpec::Uniform(least, most) => {
            if !least.is_multiple_of(grain) || !most.is_multiple_of(grain) {
                let rule = format!("both ends must be multiples of the alignment, {grain} B");
                return Err(values.invalid("size", rule));
            }
            let (least, most) = (least / grain, most / grain);
            (Size::Uniform { grain, least, most }, grain)
        }
    };
    if size.all().any(|size| !Bytes(size).is_multiple_of(logical_block)) {
        let rule = format!("it must be a multiple of the logical block, {logical_block}");
        return Err(values.invalid("size", rule));
    }
    if size.most() > room.0 {
        return Err(values.invalid("size", format!("the target range has only {room}")));
    }
    Ok((size, alignment.map_or(natural, |alignment| alignment.0)))
}

fn check_mean(values: &Values, mean: u64, room: Bytes) -> Result<(), WorkloadError> {
    match mean > room.0 {
        true => Err(values.invalid("size", format!("the target range has only {room}"))),
        false => Ok(()),
    }
}

#[allow(clippy::cast_precision_loss)] // sizes of IOs are far below 2^53
fn ratio(grain: u64, mean: u64) -> f64 {
    grain as f64 / mean as f64
}

fn asked(text: &str) -> Result<SizeSpec, String> {
    let size = |text: &str| match text.parse::<Bytes>() {
        Ok(Bytes(0)) => Err("an IO has at least one logical block".to_string()),
        Ok(size) => Ok(size.0),
        Err(error) => Err(error.to_string()),
    };
    if let Some(mean) = text.strip_prefix("geometric:") {
        return Ok(SizeSpec::Geometric(size(mean)?));
    }
    if let Some(mean) = text.strip_prefix("exponential:") {
        return Ok(SizeSpec::Exponential(size(mean)?));
    }
    if let Some(range) = text.strip_prefix("uniform:") {
        let (least, most) = range.split_once("..").ok_or(RULE)?;
        let (least, most) = (size(least)?, size(most)?);
        return match least <= most {
            true => Ok(SizeSpec::Uniform(least, most)),
            false => Err("the smaller size comes first".into()),
        };
    }
    if !text.contains(':') {
        return size(text).map(SizeSpec::Fixed).map_err(|error| format!("{error}; {RULE}"));
    }
    let part = |part: &str| {
        let (bytes, share) = part.split_once(':').ok_or(RULE)?;
        let share = share.parse().ok().filter(|share: &f64| *share > 0.0 && share.is_finite());
        Ok((size(bytes)?, share.ok_or("a share is a number above 0")?))
    };
    text.split('+').map(part).collect::<Result<_, String>>().map(SizeSpec::Mix)
}

/// Returns the sizes with the running sums of their shares, scaled to end at 1.
fn cumulated(parts: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    let total: f64 = parts.iter().map(|part| part.1).sum();
    let mut sum = 0.0;
    let cumulate = |(size, share): (u64, f64)| {
        sum += share / total;
        (size, sum)
    };
    parts.into_iter().map(cumulate).collect()
}

impl Size {
    /// Creates a geometric number of grains with this mean in bytes (a grain or more), limited to
    /// `most` bytes.
    pub(super) fn geometric(mean: u64, grain: u64, most: u64) -> Size {
        Size::Geometric { grain, log_of_rest: (-ratio(grain, mean)).ln_1p(), most }
    }

    /// Returns the sizes to check against limits: each fixed size, the ends of a uniform
    /// range, or the grain of a geometric distribution.
    pub(super) fn all(&self) -> impl Iterator<Item = u64> + '_ {
        let (ends, parts) = match self {
            Size::Fixed(size) => ([*size; 2], None),
            Size::Geometric { grain, .. } => ([*grain; 2], None),
            Size::Uniform { grain, least, most } => ([grain * least, grain * most], None),
            Size::Mix(parts) => ([parts[0].0; 2], Some(parts)),
        };
        ends.into_iter().chain(parts.into_iter().flatten().map(|part| part.0))
    }

    /// Returns the smallest size.
    pub(super) fn least(&self) -> u64 {
        self.all().min().unwrap_or_default()
    }

    /// Returns the largest requested size. For a geometric number of grains, this is one grain,
    /// because larger sizes are limited to the range.
    fn most(&self) -> u64 {
        self.all().max().unwrap_or_default()
    }

    /// Returns the size if all sizes are equal.
    pub(super) fn fixed(&self) -> Option<u64> {
        match self {
            Size::Fixed(size) => Some(*size),
            _ => None,
        }
    }

    /// Draws a size.
    #[inline]
    pub(super) fn draw(&self, rng: &mut impl Rng) -> u64 {
        match self {
            Size::Fixed(size) => *size,
            Size::Geometric { grain, log_of_rest, most } => {
                let uniform = 1.0 - rng.random::<f64>(); // never 0
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let grains = (uniform.ln() / log_of_rest) as u64; // 0 where the mean is a grain
                grains.saturating_add(1).saturating_mul(*grain).min(*most)
            }
            Size::Uniform { grain, least, most } => rng.random_range(*least..=*most) * grain,
            Size::Mix(parts) => {
                let uniform: f64 = rng.random();
                let part = parts.iter().find(|part| uniform < part.1);
                // Rounding may leave the last sum slightly below 1.
                part.unwrap_or(&parts[parts.len() - 1]).0
            }
        }
    }
}
