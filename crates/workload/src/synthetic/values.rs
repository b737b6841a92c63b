use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use flashscope_block::{Bytes, nearest, parse_share};

use super::{Field, Kind, Target, WorkloadError};

/// The fields of a workload as they were given.
pub(super) struct Values<'a> {
    /// The argument between the name and the `?`, after a colon.
    pub(super) argument: &'a str,
    kind: &'static Kind,
    given: Vec<(&'static Field, &'a str)>,
}

impl<'a> Values<'a> {
    /// Reads `field=value&field=value`. If a field is given twice, the last value counts.
    pub(super) fn read(
        kind: &'static Kind,
        argument: &'a str,
        text: &'a str,
    ) -> Result<Values<'a>, WorkloadError> {
        let mut given = Vec::new();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| WorkloadError::NoField(part.into()))?;
            let field = kind.all_fields().find(|field| field.name == name);
            given.push((field.ok_or_else(|| unknown(kind, name))?, value));
        }
        Ok(Values { argument, kind, given })
    }

    /// Returns the text of a field: the given value, or its default if it has one.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let given = self.given(name);
        given.or_else(|| self.field(name).default)
    }

    /// Returns the value of a field, if given.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.given.iter().rfind(|(field, _)| field.name == name).map(|(_, value)| *value)
    }

    fn field(&self, name: &str) -> &'static Field {
        let field = self.kind.all_fields().find(|field| field.name == name);
        field.unwrap_or_else(|| unreachable!("`{}` reads its own fields", self.kind.name))
    }

    /// Returns a field as a quantity with a unit. The error describes the format of the quantity.
    pub(super) fn quantity<T: FromStr<Err: Display>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, WorkloadError> {
        let parse = |text: &str| text.parse().map_err(|error: T::Err| self.invalid(name, error));
        self.text(name).map(parse).transpose()
    }

    /// Returns a field as bytes, in multiples of `unit` and within a range.
    pub(super) fn bytes(
        &self,
        name: &str,
        unit: Bytes,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, WorkloadError> {
        let Some(bytes) = self.quantity::<Bytes>(name)? else { return Ok(None) };
        if bytes.is_multiple_of(unit) && range.contains(&bytes.0) {
            return Ok(Some(bytes.0));
        }
        let [least, most] = [range.start(), range.end()].map(|end| Bytes(*end));
        Err(self.invalid(name, format!("it must be a multiple of {unit} from {least} to {most}")))
    }

    /// Returns the start and the length of the target range, from the fields `offset` and `length`.
    pub(super) fn target_range(&self, target: &Target) -> Result<(Bytes, Bytes), WorkloadError> {
        let offset: Bytes = self.quantity("offset")?.unwrap_or_default();
        if offset >= target.capacity {
            return Err(self.invalid("offset", format!("the drive has only {}", target.capacity)));
        }
        let rest = Bytes(target.capacity.0 - offset.0);
        let length = self.quantity("length")?.unwrap_or(rest);
        if length > rest {
            let rule = format!("the drive has only {rest} from the offset on");
            return Err(self.invalid("length", rule));
        }
        Ok((offset, length))
    }

    /// Returns a field as a number that satisfies `rule`.
    pub(super) fn number<T: FromStr>(
        &self,
        name: &str,
        rule: &str,
        fulfils: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, WorkloadError> {
        let parse = |text: &str| text.parse().ok().filter(&fulfils);
        let parse = |text| parse(text).ok_or_else(|| self.invalid(name, rule));
        self.text(name).map(parse).transpose()
    }

    /// Returns a field as a whole number in a range.
    pub(super) fn whole<T: FromStr + PartialOrd + Display>(
        &self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, WorkloadError> {
        let rule = format!("it must be a whole number from {} to {}", range.start(), range.end());
        self.number(name, &rule, |number| range.contains(number))
    }

    /// Returns a field as a number in a range.
    pub(super) fn real(
        &self,
        name: &str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, WorkloadError> {
        let rule = format!("it must be a number from {} to {}", range.start(), range.end());
        self.number(name, &rule, |number| range.contains(number))
    }

    /// Returns a field that has a default, as a share from 0 to 1.
    pub(super) fn share(&self, name: &str) -> Result<f64, WorkloadError> {
        let parse = |text: &str| parse_share(text).filter(|share| (0.0..=1.0).contains(share));
        let invalid = || self.invalid(name, "it must be a number from 0 to 1, or `28%`");
        let share = self.text(name).map(|text| parse(text).ok_or_else(invalid)).transpose()?;
        Ok(share.unwrap_or_default())
    }

    /// Returns a field that is `true` or `false`.
    pub(super) fn flag(&self, name: &str) -> Result<bool, WorkloadError> {
        Ok(self.number(name, "it must be `true` or `false`", |_: &bool| true)?.unwrap_or_default())
    }

    /// Returns the error for a field whose value breaks a rule.
    pub(super) fn invalid(&self, name: &str, rule: impl Display) -> WorkloadError {
        let value = self
            .text(name)
            .map_or("not given", |text| if text.is_empty() { "empty" } else { text });
        WorkloadError::Invalid {
            field: self.field(name).name,
            value: value.into(),
            rule: rule.to_string(),
        }
    }
}

fn unknown(kind: &Kind, name: &str) -> WorkloadError {
    let valid: Vec<_> = kind.all_fields().map(|field| field.name).collect();
    let nearest = nearest(name, valid.iter().copied());
    WorkloadError::UnknownField { workload: kind.name, name: name.into(), nearest, valid }
}
