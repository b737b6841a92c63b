use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::statistics::Characteristics;
use flashscope_trace::{Request, Volumes};

use super::writes::Writes;
use crate::{Claim, Error, Found, Input, Item, Paper, Run, State, Tolerance};

/// Section III.
pub const FIGURE_1: Item = Item {
    id: "boboila-figure1",
    paper: Paper::Boboila,
    place: "Figure 1, equations 1 to 3",
    title: "division of a request into head, middle and tail fragments",
    stands: State::Explained,
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

/// Writes that are taken apart.
const WRITES: usize = 1_000_000;

/// Pages that are written: many, so that few writes are cut at the end.
const PAGES: u64 = 1 << 22;

const PAGE: u64 = 2048;

/// What is left of chance in that many.
const CHANCE: f64 = 0.01;

const BOUNDARY: &str = "\"this number is small for B >> 1\": of B writes one begins on a boundary, and its first fragment is no head";

const WHOLE: &str = "writes have whole pages: with geometric lengths, which are those, (1 - 1/w)^(B-1) / B are middles";

#[allow(clippy::cast_precision_loss, reason = "counts of fragments")]
fn run(run: &Run<'_>) -> Result<Found, Error> {
    let (block, w): (u64, f64) = (run.number("block")?, run.number("length")?);
    if !(w >= 1.0 && w.is_finite()) {
        return Err(Error::input("length", &"a write has a page or more"));
    }
    let found = Characteristics::with_block(Bytes(block.saturating_mul(PAGE)));
    let mut found = found.map_err(|error| Error::input("block", &error))?;
    let writes: Vec<Request> = Writes::new(PAGES, w).take(WRITES).map(write).collect();
    found.push(&writes);
    let parts = found.finish(&Volumes::default()).write_lengths.ok_or(Error::Failed)?.requests;
    let pages = (parts.head.pages + parts.middle.pages + parts.tail.pages) as f64;
    let [heads, middles, tails] =
        [parts.head, parts.middle, parts.tail].map(|part| part.count as f64 / pages);
    let b = block as f64;
    let whole = (1.0 + 1.0 / w) * (-b / w).exp();
    let per_page =
        |what: &str, printed: f64, found: f64| Claim::close((what, ""), printed, found, CHANCE);
    let chance = Tolerance::Share(CHANCE);
    let geometric = (1.0 - 1.0 / w).powf(b - 1.0) / b;
    Ok(vec![
        per_page("heads for each page, equation 1", 1.0 / w, heads).unless(
            (1.0 - 1.0 / b) / w,
            chance,
            BOUNDARY,
        ),
        per_page("middles for each page, equation 2", whole / b, middles)
            .unless(geometric, chance, WHOLE),
        per_page("tails for each page, equation 3", (1.0 - whole) / b, tails).unless(
            1.0 / b - geometric,
            chance,
            WHOLE,
        ),
        per_page("middles and tails: 1 / B", 1.0 / b, middles + tails),
    ]
    .into())
}

fn write((page, pages): (u64, u64)) -> Request {
    let (offset, len) = (Bytes(page * PAGE), Bytes(pages * PAGE));
    Request { at: Nanos(0), latency: None, offset, len, volume: 0, op: Op::Write }
}
