//! Units of times and sizes.

use crate::field::Kind;

/// A unit: its name, the type of its values and its size in the base unit of that type.
pub(crate) type Unit = (&'static str, Kind, i64);

const KIB: i64 = 1024;
const SECOND: i64 = 1_000_000_000;

/// The units. For each type, the units that [`written`] uses come first, from the largest to the
/// base unit.
pub(crate) const UNITS: [Unit; 13] = [
    ("s", Kind::Time, SECOND),
    ("ms", Kind::Time, 1_000_000),
    ("us", Kind::Time, 1000),
    ("ns", Kind::Time, 1),
    ("TiB", Kind::Size, KIB.pow(4)),
    ("GiB", Kind::Size, KIB.pow(3)),
    ("MiB", Kind::Size, KIB.pow(2)),
    ("KiB", Kind::Size, KIB),
    ("B", Kind::Size, 1),
    ("h", Kind::Time, 3600 * SECOND),
    ("min", Kind::Time, 60 * SECOND),
    ("µs", Kind::Time, 1000),
    ("μs", Kind::Time, 1000),
];

/// Returns the unit called `name`.
pub(crate) fn named(name: &str) -> Option<Unit> {
    UNITS.into_iter().find(|unit| unit.0 == name)
}

/// Formats a value exactly, in the largest unit of which it is a multiple.
pub(crate) fn written(value: i64, kind: Kind) -> String {
    let fits = |unit: &&Unit| unit.1 == kind && value % unit.2 == 0 && (value != 0 || unit.2 == 1);
    match UNITS.iter().find(fits) {
        Some((name, _, size)) => format!("{} {name}", value / size),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_exactly_in_large_units() {
        let cases = [
            (10_000_000, Kind::Time, "10 ms"),
            (1_500, Kind::Time, "1500 ns"),
            (0, Kind::Time, "0 ns"),
            (4096, Kind::Size, "4 KiB"),
            (4097, Kind::Size, "4097 B"),
            (3, Kind::Number, "3"),
        ];
        for (value, kind, text) in cases {
            assert_eq!(written(value, kind), text);
        }
    }
}
