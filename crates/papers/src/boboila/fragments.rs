use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::statistics::Characteristics;
use flashscope_trace::{Request, Volumes};

use super::writes::Writes;
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State, Tolerance};

/// Figure 1, in section III.
pub(crate) const FIGURE_1: Item = Item {
    id: "boboila-figure1",
    paper: Paper::Boboila,
    place: "Figure 1, equations 1 to 3",
    title: "division of a request into head, middle and tail fragments",
    expected: State::PrintWrong,
    inputs: &[
        Input { name: "block", summary: "pages of an erase block, B", value: "64", other: "128" },
        Input {
            name: "length",
            summary: "mean length of writes in pages, w",
            value: "40",
            other: "80",
        },
    ],
    run,
};

/// The number of writes to divide.
const WRITES: usize = 1_000_000;

/// The number of pages that the writes address: a large space, which cuts few writes at its end.
const PAGES: u64 = 1 << 22;

const PAGE: u64 = 2048;

/// The tolerance for chance in that many writes.
const CHANCE: f64 = 0.01;

const BOUNDARY: &str = "\"this number is small for B >> 1\": one write in B begins on a boundary, and its first fragment is not a head";

const WHOLE: &str = "writes consist of whole pages, which makes the lengths geometric: a page has (1 - 1/w)^(B-1) / B middles";

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (block, w): (u64, f64) = (run.number("block")?, run.number("length")?);
    if !(w >= 1.0 && w.is_finite()) {
        return Err(Error::input("length", &"a write must have at least one page"));
    }
    let characteristics = Characteristics::with_block(Bytes(block.saturating_mul(PAGE)));
    let mut characteristics = characteristics.map_err(|error| Error::input("block", &error))?;
    let writes: Vec<Request> = Writes::new(PAGES, w).take(WRITES).map(write).collect();
    characteristics.push(&writes);
    let lengths = characteristics.finish(&Volumes::default()).write_lengths;
    let parts = lengths.ok_or(Error::Failed)?.requests;
    let pages = (parts.head.pages + parts.middle.pages + parts.tail.pages) as f64;
    let [heads, middles, tails] =
        [parts.head, parts.middle, parts.tail].map(|part| part.count as f64 / pages);
    let b = block as f64;
    let whole = (1.0 + 1.0 / w) * (-b / w).exp();
    let per_page = |what: &str, printed: f64, counted: f64| {
        Claim::within((what, ""), printed, counted, CHANCE)
    };
    let chance = Tolerance::Share(CHANCE);
    let geometric = (1.0 - 1.0 / w).powf(b - 1.0) / b;
    Ok(vec![
        per_page("heads per page, equation 1", 1.0 / w, heads).print_wrong_by(
            (1.0 - 1.0 / b) / w,
            chance,
            BOUNDARY,
        ),
        per_page("middles per page, equation 2", whole / b, middles)
            .print_wrong_by(geometric, chance, WHOLE),
        per_page("tails per page, equation 3", (1.0 - whole) / b, tails).print_wrong_by(
            1.0 / b - geometric,
            chance,
            WHOLE,
        ),
        per_page("middles and tails per page: 1 / B", 1.0 / b, middles + tails),
    ]
    .into())
}

fn write((page, pages): (u64, u64)) -> Request {
    let (offset, len) = (Bytes(page * PAGE), Bytes(pages * PAGE));
    Request { at: Nanos(0), latency: None, offset, len, volume: 0, op: Op::Write }
}
