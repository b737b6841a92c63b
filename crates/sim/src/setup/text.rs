//! Conversion of a profile to text, as TOML or as the fields of a spec, and back.

use std::fmt::Write;

use toml::{Table, Value};

use super::spec::{checked, defaults, field_names, set};
use super::{Profile, ProfileError};

impl Profile {
    /// Returns every field by its dotted name with its value, as written after `?` in a spec, in
    /// the order of [`field_names`].
    pub fn fields(&self) -> Vec<(String, String)> {
        let table = Table::try_from(self).expect("a profile is a TOML table");
        field_names()
            .iter()
            .map(|name| (name.clone(), plain(name, value_of(&table, name))))
            .collect()
    }

    /// Returns the same drive with some fields set. Each field is a dotted name and a text, as
    /// written after `?` in a spec.
    ///
    /// # Errors
    /// Returns an error if a field does not exist, or cannot have the value.
    pub fn with_fields<'f>(
        &self,
        fields: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Result<Profile, ProfileError> {
        let mut table = Table::new();
        for (name, value) in self.fields() {
            set(&mut table, &name, &value)?;
        }
        for (name, value) in fields {
            set(&mut table, name, value)?;
            checked(&table, name)?;
        }
        checked(&table, "fields")
    }

    /// Returns the profile as TOML that [`parse`](super::parse) can read. The text holds the fields
    /// that differ from their defaults, and the fields for which `comment` returns a comment, which
    /// follows the value.
    pub fn to_toml(&self, comment: impl Fn(&str) -> Option<String>) -> String {
        let (mut text, mut section) = (String::new(), String::new());
        let by_default = Profile::default().fields();
        // Fields without a section come first: after the header of a section, they would belong to
        // it.
        let mut fields: Vec<_> = self.fields().into_iter().zip(by_default).collect();
        fields.sort_by_key(|((name, _), _)| name.contains('.'));
        for ((name, value), (_, by_default)) in fields {
            let comment = comment(&name);
            if value == by_default && comment.is_none() {
                continue;
            }
            let (of, field) = name.rsplit_once('.').unwrap_or(("", &name));
            if of != section {
                section = of.into();
                let _ = writeln!(text, "\n[{section}]");
            }
            let quoted = if is_text(&name) { format!("{value:?}") } else { value };
            let behind = comment.map(|comment| format!(" # {comment}")).unwrap_or_default();
            let _ = writeln!(text, "{field} = {quoted}{behind}");
        }
        text
    }
}

/// Returns the value of the field with this dotted name.
fn value_of<'t>(table: &'t Table, name: &str) -> &'t Value {
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    rest.split_terminator('.').fold(&table[first], |value, key| &value[key])
}

/// Returns true if TOML quotes the value of a field: a text, or a time, which has a unit.
fn is_text(name: &str) -> bool {
    matches!(value_of(defaults(), name), Value::String(_)) || is_time(name)
}

/// Returns true if a field is a time: one that refuses a bare number, which has no unit.
fn is_time(name: &str) -> bool {
    if !matches!(value_of(defaults(), name), Value::Integer(_)) {
        return false;
    }
    let mut table = Table::new();
    set(&mut table, name, "1").and_then(|()| checked(&table, name)).is_err()
}

fn plain(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) if is_time(name) => format!("{number}ns"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(flag) => flag.to_string(),
        other => unreachable!("a profile has no {}", other.type_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KINDS, parse};
    use super::*;

    // Every profile survives the conversion to text and back, and to fields and back.
    #[test]
    fn every_profile_is_read_again() {
        for kind in KINDS {
            let profile = parse(kind.name).unwrap();
            let text = profile.to_toml(|_| None);
            let read: Profile = toml::from_str(&text).unwrap();
            assert_eq!(read, profile, "{text}");
            let fields = profile.fields();
            let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            assert_eq!(Profile::default().with_fields(fields).unwrap(), profile);
        }
    }

    // Comments follow their fields, even fields with default values.
    #[test]
    fn comments_follow_their_fields() {
        let profile = parse("agrawal-2008?flash.page_read=30us").unwrap();
        let text = profile.to_toml(|name| (name == "flash.page_size").then(|| "found".into()));
        assert!(text.contains("page_read = \"30000ns\"\n"), "{text}");
        assert!(text.contains("page_size = 4096 # found\n"), "{text}");
    }

    // A field that does not exist is refused, and so is a value that a field cannot have.
    #[test]
    fn unknown_fields_and_invalid_values_are_refused() {
        let profile = Profile::default();
        assert!(profile.with_fields([("flash.pages", "1")]).is_err());
        assert!(profile.with_fields([("flash.packages", "many")]).is_err());
    }
}
