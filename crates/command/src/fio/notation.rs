//! fio's notation of numbers, sizes and times.

use flashscope_block::{Bytes, Nanos};

/// A size of a job file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Size {
    /// Bytes.
    Bytes(u64),
    /// A percentage of the capacity of the drive.
    Percent(u64),
}

impl Size {
    /// Returns the bytes on a drive of `capacity` bytes.
    pub(crate) fn on(self, capacity: Bytes) -> Bytes {
        match self {
            Size::Bytes(bytes) => Bytes(bytes),
            Size::Percent(percent) => {
                let bytes = u128::from(capacity.0) * u128::from(percent) / 100;
                Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Parses a size or a percentage; `None` if it is neither.
pub(crate) fn size(text: &str) -> Option<Size> {
    match text.strip_suffix('%') {
        Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100).map(Size::Percent),
        None => bytes(text).map(|bytes| Size::Bytes(bytes.0)),
    }
}

/// Parses a size; `None` if the text is not a single size.
///
/// With fio's default `kb_base`, `k` and `kb` are 1024 and `ki` and `kib` are 1000.
pub(crate) fn bytes(text: &str) -> Option<Bytes> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = lower.split_at(digits);
    let prefix = suffix.strip_suffix('b').unwrap_or(suffix);
    let (prefix, base) = match prefix.strip_suffix('i') {
        Some(prefix) if !prefix.is_empty() => (prefix, 1000_u64),
        Some(_) => return None,
        None => (prefix, 1024),
    };
    let power = match prefix {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(base.pow(power)).map(Bytes)
}

/// Parses a time; `None` if the text is not a time. A number without a unit is in units of `unit`.
pub(crate) fn time(text: &str, unit: Nanos) -> Option<Nanos> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    let unit = match suffix.to_ascii_lowercase().as_str() {
        "" => unit,
        "us" | "usec" => Nanos::micros(1),
        "ms" | "msec" => Nanos::millis(1),
        "s" | "sec" => Nanos::secs(1),
        "m" => Nanos::secs(60),
        "h" => Nanos::secs(3600),
        "d" => Nanos::secs(86_400),
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit.0).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    // fio 3.33 writes IOs of these sizes for `--bs`.
    #[test]
    fn sizes_are_those_of_fio() {
        for (text, expected) in [
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4ki", 4000),
            ("4KiB", 4000),
            ("1m", 1 << 20),
            ("2G", 2 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(bytes(text), Some(Bytes(expected)), "{text}");
        }
        for text in
            ["", "k", "4q", "4k-8k", "-4k", "4i", "1.5k", "99999999999999999999", "9999999p"]
        {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(size("50%").map(|half| half.on(Bytes(1000))), Some(Bytes(500)));
        assert_eq!((size("101%"), size("%")), (None, None));
    }

    #[test]
    fn times_have_units() {
        let seconds = |text| time(text, Nanos::secs(1));
        assert_eq!(seconds("30"), Some(Nanos::secs(30)));
        assert_eq!(
            (seconds("2m"), seconds("10ms")),
            (Some(Nanos::secs(120)), Some(Nanos::millis(10)))
        );
        assert_eq!(time("50", Nanos::micros(1)), Some(Nanos::micros(50)));
        assert_eq!((seconds("soon"), seconds("")), (None, None));
    }
}
