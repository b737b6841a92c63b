use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A number of bytes, or an address in bytes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A duration, or a point in time, in nanoseconds.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// The error for a text that is not a quantity of the expected unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseUnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {}: write it like {}", self.text, self.what, self.example)
    }
}

impl std::error::Error for ParseUnitError {}

/// The units of size. Single letters are binary, as in fio and dd.
const SIZES: [(&str, u64); 14] = [
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// The units of time.
const TIMES: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Splits `1.5KiB` into the text of its number and the factor of its unit.
fn split<'a>(text: &'a str, units: &[(&str, u64)]) -> Option<(&'a str, u64)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let scale = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1;
    Some((number, scale))
}

/// Parses `1.5KiB` as 1.5 × 1024, without rounding if the product is an integer.
fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, scale) = split(text, units)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // A deliberate bug that the fuzz targets must find: a unit without a number causes a panic.
    if crate::canary::is_planted() && whole.is_empty() && scale > 1 {
        panic!("`{text}` has no number");
    }
    let whole: u128 = whole.parse().ok()?;
    let mut total = whole.checked_mul(u128::from(scale))?;
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().ok()?;
        let power = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        total = total.checked_add(digits.checked_mul(u128::from(scale))? / power)?;
    }
    u64::try_from(total).ok()
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, &SIZES).map(Bytes).ok_or_else(|| ParseUnitError {
            text: text.into(),
            what: "size",
            example: "`4096`, `32KiB` or `1.5GiB`",
        })
    }
}

/// Parses a share, written as a number or in percent: `0.28` and `28%` are the same. Returns `None`
/// for any other text.
pub fn parse_share(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

/// Parses a count, such as `90`, `90k` or `1.5M`. Unlike in sizes, `k`, `M` and `G` stand for
/// powers of 1000. Returns `None` for any other text, and for a count that is not an integer.
pub fn parse_count(text: &str) -> Option<u64> {
    let (digits, zeros): (&str, usize) = match text.char_indices().last()? {
        (end, 'k' | 'K') => (&text[..end], 3),
        (end, 'M') => (&text[..end], 6),
        (end, 'G') => (&text[..end], 9),
        _ => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || digits.ends_with('.') || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    format!("{whole}{fraction}{:0<1$}", "", zeros.checked_sub(fraction.len())?).parse().ok()
}

/// Parses a sum of times such as `1h30m`. Each term must be less than one unit of the term before
/// it.
fn parse_times(text: &str) -> Option<u64> {
    let (mut rest, mut total, mut unit_before) = (text.trim(), 0u64, None);
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let end = rest[number..].find(|c: char| c.is_ascii_digit()).map(|unit| number + unit);
        let (part, next) = rest.split_at(end.unwrap_or(rest.len()));
        let time = parse(part, &TIMES)?;
        if unit_before.is_some_and(|unit| time >= unit) {
            return None;
        }
        total = total.checked_add(time)?;
        unit_before = Some(split(part, &TIMES)?.1);
        rest = next;
    }
    (!text.trim().is_empty()).then_some(total)
}

impl FromStr for Nanos {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_times(text).map(Nanos).ok_or_else(|| ParseUnitError {
            text: text.into(),
            what: "time",
            example: "`250us`, `10s` or `1h30m`",
        })
    }
}

/// Formats `value` with two decimals if it is below 10, one if it is below 100, else none. Drops
/// trailing zeros.
fn short(value: f64) -> String {
    let decimals = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

impl fmt::Display for Bytes {
    /// Writes the size in the largest binary unit that does not exceed it, such as `1.5 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let Some((name, shift)) = units.into_iter().find(|(_, shift)| self.0 >> shift > 0) else {
            return write!(f, "{} B", self.0);
        };
        #[allow(clippy::cast_precision_loss)]
        let value = self.0 as f64 / (1u64 << shift) as f64;
        write!(f, "{} {name}", short(value))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1)];
        let (name, scale) =
            units.into_iter().find(|(_, scale)| self.0 >= *scale).unwrap_or(("ns", 1));
        #[allow(clippy::cast_precision_loss)]
        let value = self.0 as f64 / scale as f64;
        write!(f, "{} {name}", short(value))
    }
}

impl Bytes {
    /// 1024 bytes.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// 1024² bytes.
    pub const MIB: Bytes = Bytes(1 << 20);
    /// 1024³ bytes.
    pub const GIB: Bytes = Bytes(1 << 30);
    /// `n` × 1024 bytes.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }
    /// `n` × 1024² bytes.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }
    /// `n` × 1024³ bytes.
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }
    /// Returns true if this is a multiple of `unit`.
    pub const fn is_multiple_of(self, unit: Bytes) -> bool {
        self.0.is_multiple_of(unit.0)
    }
    /// Returns the largest multiple of `unit` that is at most `self`.
    pub const fn round_down(self, unit: Bytes) -> Bytes {
        Bytes(self.0 / unit.0 * unit.0)
    }
}

impl Nanos {
    /// The largest time, 584 years.
    pub const MAX: Nanos = Nanos(u64::MAX);
    /// `n` microseconds.
    pub const fn micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }
    /// `n` milliseconds.
    pub const fn millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }
    /// `n` seconds.
    pub const fn secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }
    /// Returns the time since `earlier`, or 0 if the clock has gone back.
    #[must_use]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time in seconds.
    #[allow(clippy::cast_precision_loss)]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

/// Addition saturates at [`Nanos::MAX`], 584 years.
impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn common_notations_are_parsed() {
        assert_eq!("4096".parse(), Ok(Bytes(4096)));
        assert_eq!("32KiB".parse(), Ok(Bytes::kib(32)));
        assert_eq!("1.5 GiB".parse(), Ok(Bytes(3 << 29)));
        assert_eq!("1GB".parse(), Ok(Bytes(1_000_000_000)));
        assert_eq!("100ms".parse(), Ok(Nanos::millis(100)));
        assert_eq!("0.1ms".parse(), Ok(Nanos::micros(100)));
        assert_eq!("4k".parse(), Ok(Bytes::kib(4)));
        assert_eq!("4M".parse(), Ok(Bytes::mib(4)));
        assert_eq!("1h30m".parse(), Ok(Nanos::secs(5400)));
        assert_eq!("1d 2h".parse(), Ok(Nanos::secs(26 * 3600)));
        assert_eq!("2min".parse(), Ok(Nanos::secs(120)));
    }

    #[test]
    fn shares_are_parsed_as_numbers_and_percentages() {
        assert_eq!(parse_share("0.28"), Some(0.28));
        assert_eq!(parse_share("28%"), Some(0.28));
        assert_eq!(parse_share("28 %"), Some(0.28));
        for text in ["", "%", " 0.28", "28%%", "a"] {
            assert_eq!(parse_share(text), None, "{text}");
        }
    }

    #[test]
    fn counts_are_parsed_with_decimal_multiples() {
        for (text, count) in
            [("0", 0), ("90", 90), ("90k", 90_000), ("1.5M", 1_500_000), ("2G", 2_000_000_000)]
        {
            assert_eq!(parse_count(text), Some(count), "{text}");
        }
        for text in
            ["", "k", "-1", "1.5", "1.", ".5k", "1.2345k", "1 k", "1e6", "1kk", "99999999999G", "é"]
        {
            assert_eq!(parse_count(text), None, "{text}");
        }
    }

    // The error message contains an example of a valid quantity.
    #[test]
    fn invalid_quantities_are_rejected() {
        for text in [
            "",
            "KiB",
            "1.2.3KiB",
            "340282366920938463463374607431768211455KiB",
            "-1",
            "4 apples",
            "99999999999TiB",
            "1.5xs",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        for text in ["", "1h30", "30m1h", "1h60m", "1h1h", "m", "1h-1m"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
        let message = "12".parse::<Nanos>().unwrap_err().to_string();
        assert_eq!(message, "`12` is not a time: write it like `250us`, `10s` or `1h30m`");
    }

    #[test]
    fn time_saturates_instead_of_overflowing() {
        let mut time = Nanos(u64::MAX - 1);
        assert_eq!(time + Nanos::secs(1), Nanos::MAX);
        time += Nanos::secs(1);
        assert_eq!(time, Nanos::MAX);
    }

    #[test]
    fn quantities_are_shown_with_three_digits() {
        assert_eq!(Bytes::kib(32).to_string(), "32 KiB");
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Nanos(0).to_string(), "0 ns");
        assert_eq!(Nanos(130_600).to_string(), "131 µs");
        assert_eq!(Nanos(1_500_000).to_string(), "1.5 ms");
    }

    proptest! {
        #[test]
        fn whole_sizes_round_trip(n in 0u64..1 << 40) {
            prop_assert_eq!(format!("{n}KiB").parse(), Ok(Bytes::kib(n)));
        }
    }
}
