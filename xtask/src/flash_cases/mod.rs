//! `cargo xtask flash-cases CASES.json OUT.csv`: runs cases of flash commands on the scheduler that
//! `simulate` uses, below the FTL, and writes a table to compare with another simulator's results.
//!
//! A case is an object of [`case::Case`]; an unknown field is an error. A case with `script` lists
//! commands with their times, and its row has the completion time of each command (`done_us`). If
//! the case states `done_us` too, the stated and the simulated times must agree.

mod case;
mod host;
mod outcome;
mod twister;

use std::path::Path;

use anyhow::{Context, Result, bail};

use case::Case;
use host::Host;
use outcome::Row;

/// Runs every case of a file and writes a row for each.
pub(crate) fn run(cases: &Path, table: &Path) -> Result<()> {
    let text = std::fs::read_to_string(cases)
        .with_context(|| format!("cannot read {}", cases.display()))?;
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not an array of objects", cases.display()))?;
    let (mut rows, mut apart) = (Vec::new(), Vec::new());
    for (nth, case) in cases.into_iter().enumerate() {
        let case = Case::read(case).with_context(|| format!("case {}", nth + 1))?;
        let row = run_case(&case).with_context(|| case.title())?;
        if let (Some(expected), Some(found)) = (&case.done_us, &row.done_us)
            && expected.iter().zip(found).any(|(a, b)| (a - b).abs() > 5e-4)
        {
            apart.push(format!("{}: done at {found:?}, not at {expected:?}", case.title()));
        }
        rows.push(row);
    }
    outcome::write(table, &rows)?;
    if !apart.is_empty() {
        bail!("commands of scripts complete at other times than stated:\n{}", apart.join("\n"));
    }
    Ok(())
}

/// Runs a case.
pub(crate) fn run_case(case: &Case) -> Result<Row> {
    let mut host = Host::new(case)?;
    if case.script.is_some() {
        let done = host.run_script();
        return Ok(Row::of_script(case, done));
    }
    host.run(case.warmup_commands);
    let mark = host.mark();
    host.run(mark.commands + case.commands);
    Ok(Row::of_run(case, &host, &mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(text: &str) -> Result<Case> {
        Case::read(serde_json::from_str(text).expect("JSON"))
    }

    #[test]
    fn unknown_fields_are_refused() {
        assert!(case(r#"{"name": "a", "queue_depth": 2}"#).is_ok());
        for wrong in [
            r#"{"name": "a", "queue_dept": 2}"#,
            r#"{"tenants": [{"depth": 2}]}"#,
            r#"{"policy": "fastest"}"#,
            r#"{"policy": "suspend", "cache_read": true}"#,
            r#"{"ties": "random"}"#,
            r#"{"channels": 0}"#,
            r#"{"script": [[0, "read", 7, 0, 0]]}"#,
        ] {
            assert!(case(wrong).is_err(), "{wrong} was accepted");
        }
    }

    // Calculated by hand, in us: without the read, the cells would program from 10 to 510.
    // Suspending takes 5, and resuming 20.
    #[test]
    fn a_script_ends_at_its_times() {
        let script = r#"{"read_us": [50], "program_us": [500], "bus_page_us": 10,
            "policy": "suspend", "suspend_us": 5, "resume_us": 20,
            "script": [[0, "program", 0, 0, 0], [100, "read", 0, 0, 0]]}"#;
        let row = run_case(&case(script).expect("known")).expect("it runs");
        assert_eq!(row.done_us, Some(vec![595.0, 165.0]));
    }

    #[test]
    fn a_case_measures_as_many_commands_as_it_says() {
        let text = r#"{"warmup_commands": 100, "commands": 4000, "queue_depth": 1}"#;
        let row = run_case(&case(text).expect("known")).expect("it runs");
        assert_eq!(row.commands, 4000);
        assert_eq!(row.figure("read_mean_us"), Some(60.0));
    }
}
