//! The command `flashscope verify`.

use std::fmt::Write;

use flashscope_block::{Bytes, Nanos};
use flashscope_command::verify::{self, VerifyArgs, outcome};
use flashscope_document::verification::{
    AtomicitySource, Damage, Verdict, Verification, VerificationFinding, WritingEnd,
};
use flashscope_report::table::{Align, Table};

use crate::progress::LateBar;
use crate::{Failure, print};

/// The maximum number of damaged ranges in the text.
const MAX_SHOWN: usize = 10;

pub(crate) fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let verification = LateBar::new().watch(|stop, bar| verify::verify(args, stop, bar))?;
    print::document(args.json, &verification, || text(&verification))?;
    outcome(&verification)
}

/// Formats the verdict with its numbers.
fn text(it: &Verification) -> String {
    let verdict = match it.verdict {
        Verdict::AsAcknowledged => "holds everything that it acknowledged and flushed",
        Verdict::Damaged => "broke its promises",
    };
    let mut text = format!("{} {verdict}.\n\n", it.device.name);
    let mut table = Table::new(&[Align::Left]);
    let rows = totals(it).into_iter().chain(bytes(it)).chain(rest(it));
    rows.for_each(|row| table.row(row));
    text += &table.to_string();
    if !it.findings.is_empty() {
        text += "\nDamaged ranges:\n";
    }
    for finding in it.findings.iter().take(MAX_SHOWN) {
        text += &range(finding);
    }
    let left = it.findings.len().saturating_sub(MAX_SHOWN);
    if left > 0 || it.more_findings {
        let more = if it.more_findings { "at least " } else { "" };
        let _ = writeln!(text, "and {more}{left} more: see --json");
    }
    text
}

/// Returns the rows about the writing.
fn totals(it: &Verification) -> Vec<[String; 2]> {
    let journal = &it.journal;
    let end = match it.ending {
        WritingEnd::Cut => "a power cut of the machine, or a kill",
        WritingEnd::DriveFailed => "the drive stopped working",
        WritingEnd::Complete => "a limit, without a power cut",
        WritingEnd::Interrupted => "an interruption",
    };
    let mut rows = vec![
        row("writing ended by", end),
        row("writes", journal.writes),
        row("  acknowledged", journal.acknowledged),
        row("  flushed", format!("{} by {} flushes", journal.flushed, journal.flushes)),
        row("  overlapping another in flight", journal.overlapping),
        row("  acknowledged out of order", journal.out_of_order),
    ];
    if journal.damaged_tail_bytes > 0 {
        let tail = format!("{} do not count", Bytes(journal.damaged_tail_bytes));
        rows.push(row("damaged end of the journal", tail));
    }
    rows
}

/// Returns the rows about the contents.
fn bytes(it: &Verification) -> Vec<[String; 2]> {
    let mut rows = vec![
        row("target space", it.workload.target_size),
        row("  as acknowledged", Bytes(it.bytes.as_acknowledged)),
        row("  never flushed", Bytes(it.bytes.unflushed)),
    ];
    rows.extend(
        Damage::ALL
            .into_iter()
            .map(|damage| row(&format!("  {}", damage.words()), Bytes(it.bytes.of(damage)))),
    );
    rows
}

/// Returns the rows about torn and unflushed writes, and the clock.
fn rest(it: &Verification) -> Vec<[String; 2]> {
    let source = match it.atomicity.source {
        AtomicitySource::Option => "--atomic-write",
        AtomicitySource::Drive => "stated by the drive",
        AtomicitySource::LogicalBlock => "the logical block",
    };
    let unflushed = &it.unflushed;
    let (kept, lost, replaced) = (unflushed.kept, unflushed.lost, unflushed.replaced);
    let mut rows = vec![
        row("atomic unit", format!("{}, {source}", it.atomicity.unit)),
        row("  writes torn within it", it.torn_writes),
        row("  longer writes torn, as permitted", it.torn_beyond_unit_writes),
        row("unflushed writes", format!("{kept} kept, {lost} lost, {replaced} replaced")),
        row("  kept after a lost write", unflushed.kept_after_lost),
    ];
    for jump in &it.clock_jumps {
        let sign = if jump.by_ns < 0 { "-" } else { "+" };
        let by = Nanos(jump.by_ns.unsigned_abs());
        rows.push(row("clock jumped", format!("{sign}{by}, to {}", jump.at)));
    }
    rows
}

fn row(name: &str, value: impl ToString) -> [String; 2] {
    [name.to_owned(), value.to_string()]
}

/// Describes a damaged range in a line.
fn range(finding: &VerificationFinding) -> String {
    let VerificationFinding { damage, offset, len, expected_write, found_write } = finding;
    let found = found_write.map_or_else(|| "no write".to_owned(), |write| format!("write {write}"));
    let expected = expected_write.map(|write| format!(", expected {write} or later"));
    let (words, expected) = (damage.words(), expected.unwrap_or_default());
    format!("  {len} at {} B: {words}; holds {found}{expected}\n", offset.0)
}
