//! Reads fill sweeps from tables: CSV with a header line.

use flashscope_block::Bytes;

use super::FitError;
use flashscope_document::twin::Level;

/// The columns that are read; all others are ignored.
const FILL: &str = "fill";
const WRITE_AMPLIFICATION: &str = "write_amplification";
const MB_PER_S: &str = "mb_per_s";
const QUEUE_DEPTH: &str = "queue_depth";

/// Reads a fill sweep: a header line, then a line per fill level. `fill` (in bytes, or a size such
/// as `512GiB`) is required, and at least one of `write_amplification` and `mb_per_s` (10^6 bytes
/// per second). `queue_depth` is optional.
///
/// # Errors
/// Returns the number of the first wrong line, and the problem.
pub fn read_levels(text: &str) -> Result<Vec<Level>, FitError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let wrong = |nth: usize, message: String| FitError::Table { line: nth + 1, message };
    let (first, names) = lines.next().ok_or_else(|| wrong(0, "the table is empty".into()))?;
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    let place = |column: &str| names.iter().position(|name| *name == column);
    let (amplified, rate) = (place(WRITE_AMPLIFICATION), place(MB_PER_S));
    let depth = place(QUEUE_DEPTH);
    let (Some(fill), true) = (place(FILL), amplified.is_some() || rate.is_some()) else {
        let message = format!(
            "the columns are `{}`; `{FILL}` and at least one of `{WRITE_AMPLIFICATION}` and \
             `{MB_PER_S}` are required",
            names.join("`, `")
        );
        return Err(wrong(first, message));
    };
    let level = |(nth, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            let (cells, names) = (cells.len(), names.len());
            return Err(wrong(nth, format!("it has {cells} values; the first line has {names}")));
        }
        let number = |place: Option<usize>| -> Result<Option<f64>, FitError> {
            let Some(cell) = place.map(|place| cells[place]).filter(|cell| !cell.is_empty()) else {
                return Ok(None);
            };
            let value: f64 =
                cell.parse().map_err(|_| wrong(nth, format!("`{cell}` is not a number")))?;
            Ok(Some(value))
        };
        let whole = |cell: &str| {
            let depth = cell.parse().ok().filter(|depth: &u32| *depth > 0);
            depth.ok_or_else(|| {
                wrong(nth, format!("`{cell}` is not a queue depth: it must be at least 1"))
            })
        };
        let depth = depth.map(|place| cells[place]).filter(|cell| !cell.is_empty());
        let size: Bytes = cells[fill].parse().map_err(|error| wrong(nth, format!("{error}")))?;
        Ok(Level {
            fill: size,
            write_amplification: number(amplified)?,
            bytes_per_second: number(rate)?.map(|rate| rate * 1e6),
            queue_depth: depth.map(whole).transpose()?,
        })
    };
    lines.map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes_and_ignores_other_columns() {
        let text = "day,fill,write_amplification,mb_per_s\n1,4096,1.5,\n\n2, 512GiB ,2,100.5\n";
        let levels = read_levels(text).unwrap();
        assert_eq!(levels.len(), 2);
        assert_eq!((levels[0].fill, levels[0].bytes_per_second), (Bytes(4096), None));
        let last = (levels[1].fill, levels[1].write_amplification, levels[1].bytes_per_second);
        assert_eq!(last, (Bytes::gib(512), Some(2.0), Some(100.5e6)));
        let levels = read_levels("fill,mb_per_s,queue_depth\n1GiB,2,16\n2GiB,1,\n").unwrap();
        assert_eq!((levels[0].queue_depth, levels[1].queue_depth), (Some(16), None));
    }

    #[test]
    fn errors_name_their_line() {
        for (text, expected) in [
            ("", "line 1: the table is empty"),
            ("fill,wa\n", "line 1: the columns are `fill`, `wa`"),
            ("fill,mb_per_s\n1GiB,2\n1GiB\n", "line 3: it has 1 values"),
            ("fill,mb_per_s\nmuch,2\n", "line 2: "),
            ("fill,mb_per_s\n1GiB,fast\n", "line 2: `fast` is not a number"),
            ("fill,mb_per_s,queue_depth\n1GiB,2,0\n", "line 2: `0` is not a queue depth"),
        ] {
            let error = read_levels(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
