//! Parsing of the fields of a line.

use flashscope_block::{Bytes, Nanos, Op};

use super::super::Request;
use super::super::error::Reason;

/// The maximum length of a field in bytes: that of a path.
pub(in super::super) const LONGEST_FIELD: usize = 1 << 12;

/// The fields of a line, in order.
pub(in super::super) struct Fields<'a> {
    /// The unparsed part of the line; `None` after the last field.
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    /// Creates fields separated by one byte, such as a comma.
    #[inline]
    pub(in super::super) fn separated(line: &'a [u8], separator: u8) -> Fields<'a> {
        Fields { rest: Some(line), separator }
    }

    /// Creates fields separated by one or more blanks or tabs.
    #[inline]
    pub(in super::super) fn blank(line: &'a [u8]) -> Fields<'a> {
        let line = line.trim_ascii();
        Fields { rest: Some(line).filter(|line| !line.is_empty()), separator: b' ' }
    }

    /// Returns the next field unchanged; `name` describes it in errors.
    #[inline]
    pub(in super::super) fn text(&mut self, name: &'static str) -> Result<&'a [u8], Reason> {
        let rest = self.rest.ok_or_else(|| missing(name))?;
        let end = rest.iter().position(|byte| self.separates(*byte)).unwrap_or(rest.len());
        if end > LONGEST_FIELD {
            return Err(Reason::new(format!("{name} is longer than {LONGEST_FIELD} bytes")));
        }
        self.go_on(rest, end);
        Ok(&rest[..end])
    }

    /// Parses the next field as a whole number.
    #[inline]
    pub(in super::super) fn number(&mut self, name: &'static str) -> Result<u64, Reason> {
        let mut rest = self.rest.ok_or_else(|| missing(name))?;
        while let [b' ', after @ ..] = rest {
            rest = after;
        }
        let (value, digits) = digits(rest);
        let ends = rest.get(digits).is_none_or(|byte| self.separates(*byte));
        if !ends || digits == 0 || digits > MAX_DIGITS {
            let text = self.text(name)?;
            return slow_number(text, name);
        }
        self.go_on(rest, digits);
        Ok(value)
    }

    /// Returns the text of the next field, which must be a whole number, such as a device number.
    #[inline]
    pub(in super::super) fn digits(&mut self, name: &'static str) -> Result<&'a [u8], Reason> {
        let text = self.text(name)?;
        match digits(text).1 {
            count @ 1..=MAX_DIGITS if count == text.len() => Ok(text),
            _ => slow_number(text, name).map(|_| text),
        }
    }

    /// Parses the next field as a time in units of `unit` nanoseconds, with optional decimals.
    /// Truncates it to whole nanoseconds.
    #[inline]
    pub(in super::super) fn time(
        &mut self,
        name: &'static str,
        unit: u64,
    ) -> Result<Nanos, Reason> {
        let text = self.text(name)?.trim_ascii();
        decimal(text, b'.', unit).map(Nanos).ok_or_else(|| {
            Reason::new(format!("{name} is `{}`, not a time below 584 years", shown(text)))
        })
    }

    /// Parses the next field as a [time](Self::time); returns `None` if the field is empty.
    #[inline]
    pub(in super::super) fn time_or_empty(
        &mut self,
        name: &'static str,
        unit: u64,
    ) -> Result<Option<Nanos>, Reason> {
        if let Some([first, ..]) = self.rest
            && self.separates(*first)
        {
            return self.text(name).map(|_| None);
        }
        self.time(name, unit).map(Some)
    }

    /// Parses the next field as an address or a length, in units of `unit` bytes.
    #[inline]
    pub(in super::super) fn bytes(
        &mut self,
        name: &'static str,
        unit: u64,
    ) -> Result<Bytes, Reason> {
        let value = self.number(name)?.checked_mul(unit).map(Bytes);
        value.ok_or_else(|| Reason::new(format!("{name} is beyond 2^64 bytes")))
    }

    /// Parses the next field as an operation; `names` gives the operation for each accepted text.
    #[inline]
    pub(in super::super) fn op(
        &mut self,
        name: &'static str,
        names: &[(&'static str, Op)],
    ) -> Result<Op, Reason> {
        let text = self.text(name)?.trim_ascii();
        let named = names.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(text));
        named.map(|(_, op)| *op).ok_or_else(|| {
            let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            Reason::new(format!("{name} is `{}`, not one of {}", shown(text), names.join(", ")))
        })
    }

    /// Returns true if the line has another field.
    #[inline]
    pub(in super::super) fn more(&self) -> bool {
        self.rest.is_some_and(|rest| !rest.is_empty())
    }

    /// Returns true if the next field begins with a digit.
    #[inline]
    pub(in super::super) fn number_follows(&self) -> bool {
        self.rest.is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    }

    /// Checks that the line has no further field.
    #[inline]
    pub(in super::super) fn end(&self) -> Result<(), Reason> {
        match self.rest {
            None => Ok(()),
            Some(rest) if rest.trim_ascii().is_empty() => Ok(()),
            Some(rest) => Err(Reason::new(format!("the line has extra fields: `{}`", shown(rest)))),
        }
    }

    #[inline]
    fn separates(&self, byte: u8) -> bool {
        byte == self.separator || (self.separator == b' ' && byte == b'\t')
    }

    /// Advances past the field that ends at `end`.
    #[inline]
    fn go_on(&mut self, rest: &'a [u8], end: usize) {
        self.rest = rest.get(end + 1..);
        if self.separator == b' '
            && let Some(rest) = self.rest
        {
            let blank = rest.iter().take_while(|byte| self.separates(**byte)).count();
            self.rest = Some(&rest[blank..]);
        }
    }
}

/// Returns the request if its range fits the address space, and its length is 0 for a flush and
/// above 0 for other operations.
#[inline]
pub(in super::super) fn checked(request: Request) -> Result<Request, Reason> {
    if request.len.0 == 0 && request.op != Op::Flush {
        return Err(Reason::new("it is for 0 bytes"));
    }
    if request.len.0 != 0 && request.op == Op::Flush {
        return Err(Reason::new("it is a flush with a length, but a flush covers the whole drive"));
    }
    if request.offset.0.checked_add(request.len.0).is_none() {
        return Err(Reason::new("it ends beyond 2^64 bytes"));
    }
    Ok(request)
}

/// The number of decimal digits that always fit in 64 bits.
const MAX_DIGITS: usize = 19;

/// Parses the digits at the start of a text. Returns the number and its count of digits.
#[inline]
fn digits(text: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    let mut count = 0;
    while let Some(byte) = text.get(count) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

#[cold]
fn slow_number(text: &[u8], name: &'static str) -> Result<u64, Reason> {
    let number = std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        Reason::new(match text {
            [] => format!("{name} is empty"),
            text => format!("{name} is `{}`, not a whole number", shown(text)),
        })
    })
}

/// Parses a number with optional decimals, multiplies it by `unit`, and truncates it. `point` is
/// the decimal separator.
#[inline]
pub(in super::super) fn decimal(text: &[u8], point: u8, unit: u64) -> Option<u64> {
    let (whole, count) = digits(text);
    if count > MAX_DIGITS || (count == 0 && text.first() != Some(&point)) {
        return None;
    }
    let whole = whole.checked_mul(unit)?;
    let Some(rest) = text.get(count..).filter(|rest| !rest.is_empty()) else {
        return Some(whole);
    };
    let rest = rest.strip_prefix(&[point])?;
    let (mut fraction, mut scale) = (0u64, 1u64);
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Further digits of a time in seconds are below one nanosecond.
        if scale < 1_000_000_000_000 {
            fraction = fraction * 10 + u64::from(digit);
            scale *= 10;
        }
    }
    let part = u128::from(fraction) * u128::from(unit) / u128::from(scale);
    whole.checked_add(u64::try_from(part).ok()?)
}

/// Parses a hexadecimal number with an optional `0x` prefix.
#[inline]
pub(in super::super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or(text.strip_prefix(b"0X")).unwrap_or(text);
    if !(1..=16).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        Some(value << 4 | u64::from(digit))
    })
}

#[cold]
fn missing(name: &'static str) -> Reason {
    Reason::new(format!("{name} is missing"))
}

/// Returns a text of a trace in printable form, shortened if necessary.
pub(in super::super) fn shown(text: &[u8]) -> String {
    let most = 40;
    let mut shown: String = String::from_utf8_lossy(&text[..text.len().min(most)])
        .chars()
        .map(|c| if c.is_control() { '�' } else { c })
        .collect();
    if text.len() > most {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    // Numbers parse exactly with every separator.
    #[test]
    fn fields_are_read() {
        let mut fields = Fields::separated(b"12,hm,,0007,18446744073709551615", b',');
        assert_eq!(fields.number("a"), Ok(12));
        assert_eq!(fields.text("b"), Ok(&b"hm"[..]));
        assert_eq!(fields.number("c"), Err(Reason::new("c is empty")));
        assert_eq!(fields.number("d"), Ok(7));
        assert_eq!(fields.number("e"), Ok(u64::MAX));
        assert_eq!(fields.end(), Ok(()));
        assert_eq!(fields.number("f"), Err(Reason::new("f is missing")));
        let mut fields = Fields::blank(b"  1 \t 22\t3 ");
        let numbers = [fields.number("a"), fields.number("b"), fields.number("c")];
        assert_eq!(numbers, [Ok(1), Ok(22), Ok(3)]);
        assert_eq!(fields.end(), Ok(()));
    }

    // Errors quote fields that are not numbers or are too large.
    #[test]
    fn numbers_are_numbers() {
        for (text, message) in [
            ("-1", "x is `-1`, not a whole number"),
            ("1e3", "x is `1e3`, not a whole number"),
            ("18446744073709551616", "x is `18446744073709551616`, not a whole number"),
        ] {
            let found = Fields::separated(text.as_bytes(), b',').number("x");
            assert_eq!(found, Err(Reason::new(message)));
        }
        let found = Fields::separated(b"36028797018963968", b',').bytes("x", 512);
        assert_eq!(found, Err(Reason::new("x is beyond 2^64 bytes")));
    }

    // Hexadecimal numbers parse if they fit in 64 bits.
    #[test]
    fn hexadecimal_numbers_parse_if_they_fit_in_64_bits() {
        for (text, wanted) in [
            ("0x00000000CC6A8000", Some(0xcc6a_8000)),
            ("a", Some(10)),
            ("FFFFFFFFFFFFFFFF", Some(u64::MAX)),
            ("0x10000000000000000", None),
            ("0x", None),
            ("12h", None),
            ("", None),
        ] {
            assert_eq!(hexadecimal(text.as_bytes()), wanted, "{text}");
        }
    }

    // Decimals are exact to the nanosecond.
    #[test]
    fn decimals_are_exact() {
        let second = 1_000_000_000;
        for (text, unit, wanted) in [
            ("0.551706", second, Some(551_706_000)),
            ("1456095145.133076000", second, Some(1_456_095_145_133_076_000)),
            ("13.191135", 1_000_000, Some(13_191_135)),
            ("7", 1_000, Some(7_000)),
            (".5", second, Some(500_000_000)),
            ("1.", second, Some(second)),
            ("0.0000000019", second, Some(1)),
            ("1.2.3", second, None),
            ("", second, None),
            ("-1.0", second, None),
            ("99999999999999999999", 1, None),
            ("18446744074", second, None),
        ] {
            assert_eq!(decimal(text.as_bytes(), b'.', unit), wanted, "{text}");
        }
    }
}
