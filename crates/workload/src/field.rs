/// A field of a workload or a trace: `name=value` after a `?`.
#[derive(Debug)]
pub struct Field {
    /// Its name, before the `=`.
    pub name: &'static str,
    /// Its value where none is given; without a default, the summary says what happens then.
    pub default: Option<&'static str>,
    /// Its value where it is an option that is given without one.
    pub alone: Option<&'static str>,
    /// What it sets, in which unit and range.
    pub summary: &'static str,
}

pub(crate) const fn field(
    name: &'static str,
    default: Option<&'static str>,
    summary: &'static str,
) -> Field {
    Field { name, default, alone: None, summary }
}
