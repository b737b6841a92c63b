/// A field of a workload or a trace: `name=value` after a `?`.
#[derive(Debug)]
pub struct Field {
    /// The name, before the `=`.
    pub name: &'static str,
    /// The default value. Without a default, the summary states the effect of omitting the field.
    pub default: Option<&'static str>,
    /// The value if the field is a flag and is given without a value.
    pub alone: Option<&'static str>,
    /// The effect, with unit and range.
    pub summary: &'static str,
}

pub(crate) const fn field(
    name: &'static str,
    default: Option<&'static str>,
    summary: &'static str,
) -> Field {
    Field { name, default, alone: None, summary }
}
