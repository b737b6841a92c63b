//! The flash page and its alignment, from the cost of short reads across a boundary.

use flashscope_block::{Nanos, Op};

use crate::outcome::Outcome;
use crate::{
    Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, standard_error,
};
use flashscope_document::probe::{Shape, Signal};

/// The part of the drive to read, in bytes: small enough for its map to stay in memory.
const SPACE: u64 = 1 << 20;

/// The span of distinct offsets, in bytes. Reads show pages of up to half of it, writes pages of
/// up to all of it.
const MAX_PAGE: u64 = 64 << 10;

/// The initial number of reads at each offset.
const SAMPLES: u64 = 1;

/// Maximum number of rounds, each with twice the reads of the previous round. Rounds end when the
/// costs show pages.
const ROUNDS: u32 = 4;

/// The number of writes of each length, if reads show nothing.
const WRITES: u64 = 96;

/// The largest difference of submission times that counts as simultaneous.
const AT_ONCE: Nanos = Nanos::micros(5);

/// Minimum effect that counts as certain, in standard errors.
const SURE: f64 = 5.0;

/// The limit of the evidence, in standard errors. With very little noise, differences beyond this
/// limit carry no further evidence.
const CLEAR: f64 = 60.0;

/// Minimum effect, as a share of the cost of a read.
const MIN_EFFECT: f64 = 0.01;

pub(super) const PROBE: Probe = Probe {
    name: "page",
    summary: "reads the two logical blocks around every offset, in one read and in two simultaneous reads: one \
                 read costs more across the end of a page, and two reads cost less if a chunk ends there as well",
    source: "flashbench's alignment test; Kim et al., IEEE TC 2012",
    finds: &[Parameter::PageSize, Parameter::Alignment],
    assumes: &[],
    writes: false,
    cost: |scene, _| scene.cost(16 * SAMPLES * (SPACE / 512), 0, 0),
    run,
};

fn run(lab: &mut Lab<'_>, _: &Knowledge) -> Result<Outcome, Halt> {
    lab.ensure_filled()?;
    let block = lab.info().logical_block.0;
    if lab.capacity() < 2 * SPACE || block > MAX_PAGE / 4 {
        return Ok(PROBE
            .unknown("the drive is too small, or its logical block is too long")
            .into());
    }
    let in_pairs = lab.info().queue_depth >= 2;
    let (mut seen, mut runs) = (Measurements::new(block), Vec::new());
    let mut page = None;
    for round in 0..ROUNDS {
        let samples = (SAMPLES << lab.attempt) << round;
        runs.push(straddling(lab, block, samples, &mut seen)?);
        if in_pairs {
            runs.push(pairs(lab, block, samples, &mut seen)?);
        }
        page = likeliest(&seen);
        if page.as_ref().is_some_and(Page::is_sure) {
            break;
        }
    }
    if page.is_none() && !lab.is_read_only() {
        let (page, run) = by_writes(lab, block)?;
        runs.push(run);
        let start = start_of(&page);
        return Ok(vec![page.runs(runs.clone()), start.runs(runs)].into());
    }
    let findings = findings(page.as_ref(), &seen);
    Ok(findings.into_iter().map(|finding| finding.runs(runs.clone())).collect::<Vec<_>>().into())
}

/// The measured costs at each offset modulo [`MAX_PAGE`], in logical blocks.
struct Measurements {
    block: u64,
    /// The costs of reads of two blocks that straddle the offset.
    straddling: Vec<Vec<f64>>,
    /// The costs of two simultaneous reads of a block each, before and after the offset.
    pairs: Vec<Vec<f64>>,
}

impl Measurements {
    fn new(block: u64) -> Measurements {
        let offsets = usize::try_from(MAX_PAGE / block).expect("there are few offsets");
        Measurements {
            block,
            straddling: vec![Vec::new(); offsets],
            pairs: vec![Vec::new(); offsets],
        }
    }

    fn index(&self, offset: u64) -> usize {
        usize::try_from(offset % MAX_PAGE / self.block).expect("there are few offsets")
    }
}

/// The typical cost at an offset.
#[derive(Debug, Clone, Copy)]
struct Typical {
    cost: f64,
    variance: f64,
}

impl Typical {
    fn of(costs: &[f64]) -> Typical {
        Typical { cost: median(costs), variance: standard_error(costs).powi(2) }
    }

    fn is_known(&self) -> bool {
        self.variance.is_finite()
    }
}

/// The typical costs at each offset, from [`Measurements`].
struct Summary {
    block: u64,
    straddling: Vec<Typical>,
    pairs: Vec<Typical>,
}

impl Measurements {
    fn summary(&self) -> Summary {
        let typical = |costs: &[Vec<f64>]| costs.iter().map(|costs| Typical::of(costs)).collect();
        let (straddling, pairs) = (typical(&self.straddling), typical(&self.pairs));
        Summary { block: self.block, straddling, pairs }
    }
}

/// Returns every offset except the first, `samples` times, in random order.
fn offsets(lab: &mut Lab<'_>, block: u64, samples: u64) -> Vec<u64> {
    let places = 1..SPACE / block;
    let mut offsets: Vec<u64> =
        places.flat_map(|at| (0..samples).map(move |_| at * block)).collect();
    lab.rng.shuffle(&mut offsets);
    offsets
}

/// Reads two blocks around each offset.
fn straddling(
    lab: &mut Lab<'_>,
    block: u64,
    samples: u64,
    seen: &mut Measurements,
) -> Result<u32, Halt> {
    let offsets = offsets(lab, block, samples);
    let reads = offsets.iter().map(|offset| Request::read(offset - block, 2 * block));
    let run = lab.run("two blocks at every offset", reads)?;
    for record in &run.records {
        let index = seen.index(record.offset.0 + block);
        seen.straddling[index].push(Run::nanos(record));
    }
    Ok(run.number)
}

/// Reads the block after and the block before each offset at once, in this order, which does not
/// trigger read-ahead.
fn pairs(
    lab: &mut Lab<'_>,
    block: u64,
    samples: u64,
    seen: &mut Measurements,
) -> Result<u32, Halt> {
    let offsets = offsets(lab, block, samples);
    let reads = offsets
        .iter()
        .flat_map(|offset| [Request::read(*offset, block), Request::read(offset - block, block)]);
    let run = lab.run_in_pairs("pairs of blocks at every offset", reads)?;
    for pair in run.records.chunks_exact(2) {
        let (begun, later) = (pair[0].submitted, pair[1].submitted);
        if later.0.abs_diff(begun.0) > AT_ONCE.0 {
            continue;
        }
        let ended = pair[0].completed().max(pair[1].completed());
        let index = seen.index(pair[0].offset.0.max(pair[1].offset.0));
        seen.pairs[index].push((ended.0 - begun.0) as f64);
    }
    Ok(run.number)
}

/// A page that explains the costs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Page {
    size: u64,
    /// The offset of the first page.
    start: u64,
    /// The evidence in standard errors that reads across the ends of pages cost more, or that pairs
    /// there cost less.
    significance: f64,
    /// The evidence for the best smaller page.
    other: f64,
}

impl Page {
    fn is_sure(&self) -> bool {
        self.significance > 1.6 * SURE && self.other < 0.5 * self.significance
    }
}

/// Returns the difference between the costs at some offsets and the costs within pages, in standard
/// errors and as a share. It takes the median at each offset, and compares the means of these
/// medians, because page ends that are also chunk ends may look different from other page ends.
fn contrast(
    costs: &[Typical],
    at: impl Fn(usize) -> bool,
    within: impl Fn(usize) -> bool,
) -> (f64, f64) {
    let mean = |selected: &dyn Fn(usize) -> bool| {
        let chosen =
            costs.iter().enumerate().filter(|(i, typical)| selected(*i) && typical.is_known());
        let (sum, variance, count) =
            chosen.fold((0.0, 0.0, 0.0), |(sum, variance, n), (_, typical)| {
                (sum + typical.cost, variance + typical.variance, n + 1.0)
            });
        (sum / count, variance / (count * count), count)
    };
    let ((at, a, n), (within, b, m)) = (mean(&at), mean(&within));
    if n < 1.0 || m < 1.0 {
        return (0.0, 0.0);
    }
    ((at - within) / (a + b).sqrt().max(1.0), (at - within) / within.max(1.0))
}

/// Returns the evidence that pages end at `start` and at every `size` bytes from there. The even
/// and the odd multiples must show it independently. A read across the end of a page costs more; if
/// a chunk ends there as well, two simultaneous reads cost less instead.
fn evidence(seen: &Summary, size: u64, start: u64) -> f64 {
    let (size, start) = (size / seen.block, start / seen.block);
    let count = MAX_PAGE / seen.block;
    let beyond = |i: usize| (i as u64 + count - start) % count;
    let within = |i: usize| !beyond(i).is_multiple_of(size);
    let shows = |(significance, effect): (f64, f64), sign: f64| {
        if sign * effect > MIN_EFFECT { sign * significance } else { 0.0 }
    };
    let every_other = |rest: u64| {
        let at = |i: usize| beyond(i) % (2 * size) == rest;
        let straddling = contrast(&seen.straddling, at, within);
        let pairs = contrast(&seen.pairs, at, within);
        shows(straddling, 1.0).max(shows(pairs, -1.0))
    };
    every_other(0).min(every_other(size)).min(CLEAR)
}

/// Returns the smallest page whose ends appear in the costs.
fn likeliest(seen: &Measurements) -> Option<Page> {
    let seen = &seen.summary();
    let sizes: Vec<u64> =
        (1..).map(|power| seen.block << power).take_while(|size| *size <= MAX_PAGE / 2).collect();
    let starts = |size: u64| (0..size / seen.block).map(|i| i * seen.block);
    // The first page usually begins at the start of the drive; other starts need clearer evidence.
    let candidates = sizes.iter().flat_map(|size| starts(*size).map(move |start| (*size, start)));
    let mut scored: Vec<(f64, u64, u64)> = candidates
        .map(|(size, start)| {
            let doubt = if start == 0 { 1.0 } else { 0.4 };
            (doubt * evidence(seen, size, start), size, start)
        })
        .filter(|(score, ..)| *score > SURE)
        .collect();
    // Among sizes with similar evidence, the smallest is right, because multiples of the page size
    // fit as well.
    let best = scored.iter().map(|(score, ..)| *score).fold(0.0, f64::max);
    scored.retain(|(score, ..)| *score > 0.35 * best);
    scored.sort_by(|a, b| (a.1, b.0).partial_cmp(&(b.1, a.0)).expect("scores are numbers"));
    let (score, size, start) = *scored.first()?;
    // Two designs look alike. In the first, pages begin half a page after the start of the drive.
    // In the second, pages have half the size, and every other page end is also a chunk end, which
    // does not appear. Real drives have the second design.
    if start > 0 && 2 * start == size && start > seen.block {
        return Some(Page { size: start, start: 0, significance: score, other: 0.5 * score });
    }
    let smaller = sizes.iter().filter(|smaller| **smaller < size);
    let other =
        smaller.map(|smaller| evidence(seen, *smaller, start % smaller)).fold(0.0, f64::max);
    Some(Page { size, start, significance: score, other })
}

/// Finds the page size from the cost of writes of each length, compared with reads. A write of less
/// than a page first has to read the other part of the page. The method suits drives that take one
/// request at a time and spread pages over parallel units. Also returns the number of the run.
fn by_writes(lab: &mut Lab<'_>, block: u64) -> Result<(Finding, u32), Halt> {
    let lengths: Vec<u64> =
        (0..).map(|power| block << power).take_while(|len| *len <= MAX_PAGE).collect();
    let mut order: Vec<u64> = repeated(&lengths, WRITES << lab.attempt);
    lab.rng.shuffle(&mut order);
    let place = |i: usize| (i as u64 % 4) * MAX_PAGE;
    let requests = order
        .iter()
        .enumerate()
        .flat_map(|(i, len)| [Request::write(place(i), *len), Request::read(place(i), *len)]);
    let run = lab.run("writes and reads of each length", requests)?;
    let typical = |op: Op, len: u64| {
        let chosen = run.records.iter().filter(|record| record.op == op && record.len.0 == len);
        Typical::of(&chosen.map(Run::nanos).collect::<Vec<_>>())
    };
    let extra: Vec<Typical> = lengths
        .iter()
        .map(|len| {
            let (write, read) = (typical(Op::Write, *len), typical(Op::Read, *len));
            Typical { cost: write.cost - read.cost, variance: write.variance + read.variance }
        })
        .collect();
    let picture = extra_picture(&lengths, &extra);
    Ok((whole_page(&lengths, &extra).signal(picture), run.number))
}

/// Returns the alignment, given that writes at multiples of a page were whole pages.
fn start_of(page: &Finding) -> Finding {
    match page.is_known() {
        true => Finding::exact(Parameter::Alignment, 0.0, page.probability)
            .because("writes at multiples of a page need no read first"),
        false => {
            Finding::unknown(Parameter::Alignment, "short reads do not show the ends of pages")
        }
    }
}

fn repeated(lengths: &[u64], times: u64) -> Vec<u64> {
    (0..times).flat_map(|_| lengths.iter().copied()).collect()
}

/// Returns the page size: the length of the shortest write that needs no read first. At that
/// length, and only there, the difference between the costs of writes and reads falls by the cost
/// of a read.
fn whole_page(lengths: &[u64], extra: &[Typical]) -> Finding {
    let falls: Vec<(f64, u64)> = extra
        .windows(2)
        .zip(&lengths[1..])
        .map(|(pair, len)| {
            let noise = (pair[0].variance + pair[1].variance).sqrt().max(1.0);
            ((pair[0].cost - pair[1].cost) / noise, *len)
        })
        .collect();
    let mut sorted = falls.clone();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Writes that take less time than reads go to a buffer, and do not show the cost of the flash.
    if extra.iter().any(|extra| extra.cost < 0.0) {
        let why = "short reads do not show the ends of pages, and writes are buffered";
        return Finding::unknown(Parameter::PageSize, why);
    }
    match sorted[..] {
        [(fall, page), (next, _), ..] if fall > SURE && next < 0.5 * fall => {
            let probability = (0.99 - 0.1 * (SURE / fall) - 0.1 * (next / fall).max(0.0)).max(0.5);
            Finding::exact(Parameter::PageSize, page as f64, probability).because(format!(
                "writes of that length cost less, relative to reads, than shorter ones, by {fall:.0} standard \
                                errors: shorter writes read the rest of the page first",
            ))
        }
        _ => Finding::unknown(
            Parameter::PageSize,
            "neither short reads at each offset nor writes of each length show a page",
        ),
    }
}

fn extra_picture(lengths: &[u64], extra: &[Typical]) -> Signal {
    let points =
        lengths.iter().zip(extra).map(|(len, extra)| (*len as f64 / 1024.0, extra.cost / 1e3));
    Signal::new(
        "Additional time of writes over reads, by length",
        "length (KiB)",
        "writes minus reads, median (µs)",
        Shape::Line,
    )
    .series("writes minus reads", points.collect::<Vec<_>>())
    .log_x()
}

fn findings(page: Option<&Page>, seen: &Measurements) -> Vec<Finding> {
    let picture = picture(page, seen);
    let Some(page) = page else {
        let why = "reads cost the same at every offset, within the noise";
        let unknown = PROBE.unknown(why).into_iter();
        return unknown.map(|finding| finding.signal(picture.clone())).collect();
    };
    let sure = (page.significance - page.other) / (SURE + page.significance);
    let probability = (0.88 + 0.15 * sure).min(0.99);
    let because = format!(
        "reads of {} bytes cost more, or pairs of reads less, across multiples of {} from {} on, by {:.0} \
         standard errors; across multiples of smaller sizes by {:.1}",
        2 * seen.block,
        page.size,
        page.start,
        page.significance,
        page.other
    );
    let size = if page.size == 2 * seen.block {
        // The experiment could not have detected smaller pages.
        let value = page.size as f64;
        Finding::value(Parameter::PageSize, value, seen.block as f64, value, 0.6 * probability)
    } else {
        Finding::exact(Parameter::PageSize, page.size as f64, probability)
    };
    vec![
        size.because(&because).signal(picture.clone()),
        Finding::exact(Parameter::Alignment, page.start as f64, probability)
            .because(because)
            .signal(picture),
    ]
}

fn picture(page: Option<&Page>, seen: &Measurements) -> Signal {
    let points = |costs: &[Vec<f64>]| -> Vec<(f64, f64)> {
        let known = costs.iter().enumerate().filter(|(_, costs)| !costs.is_empty());
        known
            .map(|(i, costs)| ((i as u64 * seen.block) as f64 / 1024.0, median(costs) / 1e3))
            .collect()
    };
    let signal = Signal::new(
        "Cost of short reads by offset",
        "offset (KiB, modulo 64 KiB)",
        "median response time (µs)",
        Shape::Line,
    )
    .series("one read across the offset", points(&seen.straddling))
    .series("two reads at once, before and after it", points(&seen.pairs));
    match page {
        Some(page) => (0..MAX_PAGE / page.size).fold(signal, |signal, n| {
            signal.mark((page.start + n * page.size) as f64 / 1024.0, "page")
        }),
        None => signal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generates the costs of a drive with pages of `page` bytes from `start` on, and chunks of
    /// `chunk` bytes.
    fn drive(page: u64, start: u64, chunk: u64, noise: f64) -> Measurements {
        let mut seen = Measurements::new(512);
        let mut rng = fastrand::Rng::with_seed(3);
        for offset in (0..MAX_PAGE).step_by(512) {
            let index = seen.index(offset);
            let beyond = offset + MAX_PAGE - start;
            let (ends, next) = (beyond.is_multiple_of(page), beyond.is_multiple_of(chunk));
            for _ in 0..64 {
                let mut vary = |cost: f64| cost * (1.0 + noise * (rng.f64() - 0.5));
                seen.straddling[index].push(vary(if ends && !next { 300e3 } else { 200e3 }));
                seen.pairs[index].push(vary(if next { 210e3 } else { 310e3 }));
            }
        }
        seen
    }

    #[test]
    fn pages_are_found_with_any_chunk_and_alignment() {
        assert_eq!(likeliest(&drive(8192, 4096, 1 << 30, 0.3)).map(|page| page.size), Some(4096));
        for (page_size, start, chunk) in [
            (2048, 0, 1 << 30),
            (4096, 0, 4096),
            (4096, 0, 16384),
            (8192, 3584, 1 << 30),
            (16384, 512, 16384),
        ] {
            let page = likeliest(&drive(page_size, start, chunk, 0.3)).unwrap();
            assert_eq!((page.size, page.start), (page_size, start), "chunk {chunk}");
            assert!(page.is_sure());
        }
    }

    #[test]
    fn no_page_is_found_where_offsets_do_not_matter() {
        assert_eq!(likeliest(&drive(1 << 30, 512, 1 << 30, 0.3)), None);
    }

    #[test]
    fn the_page_is_the_shortest_write_without_a_read_unless_buffered() {
        let lengths = [512, 1024, 2048, 4096, 8192];
        let extra = |costs: [f64; 5]| costs.map(|cost| Typical { cost, variance: 1e6 });
        let finding = whole_page(&lengths, &extra([400e3, 401e3, 400e3, 330e3, 331e3]));
        assert!(finding.agrees_with(&Finding::exact(Parameter::PageSize, 4096.0, 1.0)));
        assert!(!whole_page(&lengths, &extra([400e3, 400e3, 401e3, 400e3, 399e3])).is_known());
        assert!(!whole_page(&lengths, &extra([-90e3, -60e3, -100e3, -140e3, -150e3])).is_known());
    }
}
