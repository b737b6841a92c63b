//! The syntax of a job file: sections of options.

use anyhow::{Result, bail};

/// An option, as written in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileOption {
    pub name: String,
    /// The value; `None` for an option without `=`.
    pub value: Option<String>,
    /// The line, from 1.
    pub line: usize,
    /// The section that contains the option.
    pub section: String,
}

/// A job: its name and its options, after the options of the `[global]` sections before it.
#[derive(Debug)]
pub(super) struct Section {
    pub name: String,
    pub given: Vec<FileOption>,
}

/// The section whose options all later jobs have.
const GLOBAL: &str = "global";

/// Reads the jobs of a file.
///
/// # Errors
/// If a line is invalid, includes a file or has a variable.
pub(super) fn sections(text: &str) -> Result<Vec<Section>> {
    let (mut global, mut jobs) = (Vec::new(), Vec::<Section>::new());
    let mut current: Option<String> = None;
    for (number, line) in (1..).zip(text.lines()) {
        // A comment may follow an option.
        let line = line.split([';', '#']).next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let Some(name) = name.strip_suffix(']') else {
                bail!("line {number}: `{line}` is not a section: it lacks the `]`");
            };
            current = Some(name.trim().into());
            if name.trim() != GLOBAL {
                jobs.push(Section { name: name.trim().into(), given: global.clone() });
            }
            continue;
        }
        if let Some(file) = line.strip_prefix("include ") {
            bail!(
                "line {number}: `include {file}`: flashscope does not include files; copy the lines of the file here"
            );
        }
        let Some(section) = current.clone() else {
            bail!("line {number}: `{line}` is before the first section, such as [global]");
        };
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        if value.as_ref().is_some_and(|value| value.contains('$')) {
            bail!("line {number}: `{line}`: flashscope does not expand variables; write the value");
        }
        let given = FileOption { name: name.into(), value, line: number, section };
        match jobs.last_mut().filter(|_| given.section != GLOBAL) {
            Some(job) => job.given.push(given),
            None => global.push(given),
        }
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_the_options_of_the_global_sections_before_them() {
        let text =
            "; a comment\n[global]\nbs = 4k # small\n\n[a]\nrw=read\n[global]\ndirect\n[b]\n";
        let jobs = sections(text).unwrap();
        let names = |job: &Section| {
            job.given.iter().map(|given| (given.name.clone(), given.line)).collect::<Vec<_>>()
        };
        assert_eq!((jobs.len(), jobs[0].name.as_str()), (2, "a"));
        assert_eq!(names(&jobs[0]), [("bs".into(), 3), ("rw".into(), 6)]);
        assert_eq!(names(&jobs[1]), [("bs".into(), 3), ("direct".into(), 8)]);
        assert_eq!(jobs[0].given[0].value.as_deref(), Some("4k"));
        assert_eq!(jobs[1].given[1].value, None);
    }

    #[test]
    fn lines_that_are_not_understood_are_named() {
        for (text, message) in [
            ("rw=read\n", "line 1: `rw=read` is before the first section"),
            ("[a\n", "line 1: `[a` is not a section"),
            ("[a]\ninclude b.fio\n", "line 2: `include b.fio`"),
            ("[a]\nsize=${SIZE}\n", "line 2: `size=${SIZE}`: flashscope does not expand variables"),
        ] {
            let error = sections(text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
