use std::fmt;

/// The distribution of the addresses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    /// Every page is equally likely.
    Uniform,
    /// A fifth of the pages receives this share of the IOs (above 0.2, below 1).
    HotCold(f64),
    /// The page of rank `k` has a probability in proportion to `1 / k^exponent`; the exponent is
    /// above 0.
    Zipf(f64),
    /// One page after the other, from the start.
    Sequential,
}

/// The share of the pages that is hot in [`Pattern::HotCold`].
pub(crate) const HOT_SPACE: f64 = 0.2;

/// The IOs of the host, each of one page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// The addresses.
    pub pattern: Pattern,
    /// The share of reads in all IOs.
    pub reads: f64,
    /// The share of trims in all IOs, below the share of writes.
    pub trims: f64,
}

impl Workload {
    /// Returns the workload as on the command line, for pages of `page` bytes.
    #[must_use]
    pub fn spec(&self, page: u32) -> String {
        Spec { workload: *self, page }.to_string()
    }

    /// Returns the share of trims in writes and trims.
    pub(crate) fn trims_of_changes(&self) -> f64 {
        let changes = 1.0 - self.reads;
        if changes > 0.0 { self.trims / changes } else { 0.0 }
    }
}

struct Spec {
    workload: Workload,
    page: u32,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workload { pattern, reads, trims } = self.workload;
        match pattern {
            Pattern::Uniform => write!(f, "uniform?size={}", self.page)?,
            Pattern::HotCold(writes) => {
                let page = self.page;
                write!(f, "hotcold?size={page}&hot_space={HOT_SPACE}&hot_writes={writes}")?;
            }
            Pattern::Zipf(exponent) => {
                write!(f, "zipf?size={}&exponent={exponent}", self.page)?;
            }
            Pattern::Sequential => write!(f, "sequential?size={}", self.page)?,
        }
        if reads > 0.0 {
            write!(f, "&reads={reads}")?;
        }
        if trims > 0.0 {
            write!(f, "&trims={trims}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_have_the_form_of_the_command_line() {
        let spec = |pattern, reads, trims| Workload { pattern, reads, trims }.spec(4096);
        assert_eq!(spec(Pattern::Uniform, 0.0, 0.0), "uniform?size=4096");
        assert_eq!(
            spec(Pattern::HotCold(0.9), 0.3, 0.1),
            "hotcold?size=4096&hot_space=0.2&hot_writes=0.9&reads=0.3&trims=0.1"
        );
        assert_eq!(spec(Pattern::Zipf(0.99), 0.0, 0.0), "zipf?size=4096&exponent=0.99");
    }
}
