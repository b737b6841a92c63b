//! The experiments that look for parallel units.

use flashscope_block::Nanos;

use super::stripes::{
    ALL_PERIODS, Crossing, LONGEST_DEEP_PERIOD, LONGEST_PERIOD, MIN_UNEXPLAINED, Series, Span,
    Stripes, WeighedHypothesis, contrast, explain_crossings, explain_reads, explain_spans,
    hypotheses, series, tempered, unexplained,
};
use crate::{Halt, Lab, Request, Run, median, spread, standard_error};

/// The number of requests in flight; the queue depth of the drive limits it.
const DEPTH: u32 = 16;

/// Maximum number of pages to examine.
const MAX_PAGES: u64 = 512;

/// The number of reads at each stride, in addition to the first reads, which only fill the queue.
const READS: u32 = 64;

/// The number of page edges to read across.
pub(crate) const EDGES: u32 = 96;

/// The longest writes of the length experiment, in pages and in bytes: any drive carries these out
/// as one request.
const LONGEST_SPAN: u64 = 8;
const LONGEST_WRITE: u64 = 64 << 10;

/// The number of writes of each length.
const WRITES: u32 = 32;

/// The length of the writes that put pages in order, in bytes.
const IN_ORDER: u64 = 128 << 10;

/// The idle pause in which the drive completes its work after writes.
const REST: Nanos = Nanos::secs(2);

/// The measurements of all experiments.
pub(super) struct Evidence {
    /// The bytes of a page, as far as known.
    pub page: u64,
    /// The offset of the first examined page.
    pub start: u64,
    /// The number of examined pages.
    pub pages: u32,
    /// The number of requests in flight.
    pub depth: u32,
    /// The results of the shortest reads at each stride.
    pub short: Vec<(u32, Series)>,
    /// The results of reads of nearly a page at each stride. On some drives, only such a long read
    /// keeps the flash busy for longer than the transfer to the host. Other drives transfer whole
    /// pages to the controller even for short reads.
    pub long: Vec<(u32, Series)>,
    /// Short reads across page edges, one at a time.
    pub crossings: Vec<Crossing>,
    /// Writes of several pages, one at a time.
    pub spans: Vec<Span>,
    /// The numbers of the runs.
    pub runs: Vec<u32>,
}

impl Evidence {
    /// Runs the experiments. Returns `None` if the drive is too small.
    pub(super) fn gather(lab: &mut Lab<'_>, page: u64) -> Result<Option<Evidence>, Halt> {
        let period = u64::from(LONGEST_PERIOD) * page;
        let pages = (lab.capacity() / 8 / period * period / page).min(MAX_PAGES);
        if pages < 2 * u64::from(LONGEST_PERIOD) {
            return Ok(None);
        }
        lab.ensure_filled()?;
        // The start avoids borders between address groups, which are halves, quarters or eighths.
        let start = lab.capacity() / 16 * 5 / period * period;
        let depth = DEPTH.min(lab.info().queue_depth);
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        let (short, long, crossings, spans) = Default::default();
        let runs = Vec::new();
        let mut evidence =
            Evidence { page, start, pages, depth, short, long, crossings, spans, runs };
        evidence.put_in_order(lab)?;
        evidence.crossings = evidence.cross(lab)?;
        if evidence.is_deep() {
            evidence.stride(lab)?;
        } else {
            evidence.span(lab)?;
        }
        Ok(Some(evidence))
    }

    /// Returns true if the drive takes several requests at once.
    pub(crate) fn is_deep(&self) -> bool {
        self.depth > 1
    }

    /// Returns the longest period that the experiments can show.
    fn longest_period(&self) -> u32 {
        match self.is_deep() {
            true => LONGEST_DEEP_PERIOD.min(self.pages / 2),
            false => LONGEST_PERIOD,
        }
    }

    /// Returns the offset of a page.
    pub(super) fn offset(&self, page: u32) -> u64 {
        self.start + u64::from(page) * self.page
    }

    /// Returns the number of a page in the drive, modulo a multiple of every period.
    fn number(&self, page: u32) -> u32 {
        let first = self.start / self.page % ALL_PERIODS;
        page + u32::try_from(first).unwrap_or(0)
    }

    /// Writes the pages in the order of their addresses.
    fn put_in_order(&mut self, lab: &mut Lab<'_>) -> Result<(), Halt> {
        let (start, end) = (self.start, self.offset(self.pages));
        let writes = (0..(end - start).div_ceil(IN_ORDER)).map(|i| {
            let at = start + i * IN_ORDER;
            Request::write(at, IN_ORDER.min(end - at))
        });
        let run = lab.run("write pages in order", writes.chain([Request::flush()]))?;
        self.runs.push(run.number);
        lab.idle(REST);
        Ok(())
    }

    /// Returns the length of the shortest read. The flash rather than the transfer determines the
    /// time of such a read.
    pub(super) fn shortest(&self, lab: &Lab<'_>) -> u64 {
        lab.info().logical_block.0.clamp(1, self.page)
    }

    /// Returns the length of the longest read of one page that leaves a gap before the next page,
    /// if the logical block is short enough. Reads without a gap would be sequential, and could
    /// trigger read-ahead.
    fn longest(&self, lab: &Lab<'_>) -> u64 {
        let block = self.shortest(lab);
        (self.page - block).max(block)
    }

    /// Returns the length of reads that shows waits best.
    pub(crate) fn telling(&self, lab: &Lab<'_>) -> u64 {
        let [short, long] = [&self.short, &self.long].map(|reads| contrast(&series(reads)));
        if short < long { self.shortest(lab) } else { self.longest(lab) }
    }

    /// Reads across the edges of pages, and also within pages if pages are long enough.
    pub(super) fn cross(&mut self, lab: &mut Lab<'_>) -> Result<Vec<Crossing>, Halt> {
        let half = self.shortest(lab).min(self.page / 2);
        let edges = EDGES.min(self.pages - 1);
        let mut order: Vec<(u32, bool)> = (0..1u32 << lab.attempt)
            .flat_map(|_| (1..=edges).flat_map(|page| [(page, true), (page, false)]))
            .collect();
        let within = self.page >= 4 * half;
        order.retain(|(_, crosses)| *crosses || within);
        lab.rng.shuffle(&mut order);
        let offset = |(page, crosses): &(u32, bool)| {
            self.offset(*page) - half + if *crosses { 0 } else { self.page / 2 }
        };
        let reads = order.iter().map(|place| Request::read(offset(place), 2 * half));
        let run = lab.run("short reads across the edges of pages", reads)?;
        self.runs.push(run.number);
        let read = |((page, crosses), record): (&(u32, bool), _)| Crossing {
            page: self.number(*page),
            crosses: *crosses,
            took: Run::nanos(record),
        };
        Ok(order.iter().zip(&run.records).map(read).collect())
    }

    /// Reads at each stride, with many in flight.
    fn stride(&mut self, lab: &mut Lab<'_>) -> Result<(), Halt> {
        let (base, longest) = (LONGEST_PERIOD, self.longest_period());
        let strides = (1..=base / 2)
            .chain((base / 2..base).step_by(4).skip(1))
            .chain([base, base * 3 / 2])
            .chain([2 * base, 4 * base].into_iter().filter(|stride| *stride <= longest));
        for stride in strides {
            let count = self.depth + (READS << lab.attempt);
            let pages = self.at_stride(lab, stride, count);
            let series = self.read(lab, "short reads at a stride", self.shortest(lab), &pages)?;
            self.short.push((stride, series));
            let series = self.read(lab, "long reads at a stride", self.longest(lab), &pages)?;
            self.long.push((stride, series));
        }
        Ok(())
    }

    /// Returns `count` pages at a stride, starting over after the last page.
    pub(crate) fn at_stride(&self, lab: &mut Lab<'_>, stride: u32, count: u32) -> Vec<u32> {
        let (from, places) = (lab.rng.u32(0..stride), self.pages / stride);
        (0..count).map(|i| from + i % places * stride).collect()
    }

    /// Reads these pages, with many in flight.
    pub(super) fn read(
        &mut self,
        lab: &mut Lab<'_>,
        purpose: &str,
        len: u64,
        pages: &[u32],
    ) -> Result<Series, Halt> {
        let reads = pages.iter().map(|page| Request::read(self.offset(*page), len));
        let run = lab.run_at(purpose, self.depth, reads)?;
        self.runs.push(run.number);
        let latencies: Vec<f64> =
            run.records.iter().skip(self.depth as usize).map(Run::nanos).collect();
        let took = median(&latencies).max(1.0);
        let error = standard_error(&latencies) / took;
        let pages = pages.iter().map(|page| self.number(*page)).collect();
        Ok(Series { pages, took, error })
    }

    /// Writes several pages per request. Each request begins where a period may begin.
    fn span(&mut self, lab: &mut Lab<'_>) -> Result<(), Halt> {
        let longest = LONGEST_SPAN.min(LONGEST_WRITE / self.page).max(1);
        let lengths = 1..=u32::try_from(longest).unwrap_or(1);
        let places = u64::from(self.pages) / LONGEST_SPAN;
        let count = WRITES << lab.attempt;
        let mut order: Vec<u32> =
            lengths.clone().flat_map(|pages| (0..count).map(move |_| pages)).collect();
        lab.rng.shuffle(&mut order);
        let writes = order.iter().zip(0u64..).map(|(pages, i)| {
            let at = self.start + i % places * LONGEST_SPAN * self.page;
            Request::write(at, u64::from(*pages) * self.page)
        });
        let run = lab.run("writes of several pages", writes)?;
        self.runs.push(run.number);
        let span = |pages: u32| {
            let of = order.iter().zip(&run.records).filter(|(of, _)| **of == pages);
            lower_half(pages, of.map(|(_, record)| Run::nanos(record)).collect())
        };
        self.spans = lengths.map(span).collect();
        Ok(())
    }

    /// Returns the weight of each hypothesis.
    pub(crate) fn weigh(&self) -> Vec<WeighedHypothesis> {
        let mut weighed = hypotheses(self.longest_period());
        let mut add = |measurements: usize, explain: &dyn Fn(Stripes) -> f64| {
            let logs: Vec<f64> = weighed.iter().map(|weighed| explain(weighed.stripes)).collect();
            let logs = tempered(&logs, measurements);
            weighed.iter_mut().zip(logs).for_each(|(weighed, log)| weighed.log += log);
        };
        let sigma = self.crossing_noise();
        add(self.crossings.len(), &|stripes| explain_crossings(stripes, &self.crossings, sigma));
        if !self.is_deep() {
            add(self.spans.len(), &|stripes| explain_spans(stripes, &self.spans));
            return weighed;
        }
        for reads in [&self.short, &self.long].map(|reads| series(reads)) {
            add(reads.len(), &|stripes| explain_reads(stripes, &reads, self.depth as usize));
        }
        weighed
    }

    /// Returns the reason that the measurements contradict the hypothesis, or `None` if they agree
    /// with it.
    pub(super) fn refutes(&self, stripes: Stripes) -> Option<String> {
        let strides = unexplained(stripes, [&self.short, &self.long], self.depth as usize);
        if strides.len() < MIN_UNEXPLAINED {
            return None;
        }
        let listed: Vec<String> = strides.iter().take(5).map(u32::to_string).collect();
        let more = if strides.len() > listed.len() { ", ..." } else { "" };
        Some(format!(
            "reads with many in flight fit no number of equal and independent units: those at strides of {}{more} pages take \
             other times than {} units with {} pages in turn, which fit best; units may share a bus, or follow longer chunks",
            listed.join(", "),
            stripes.units,
            stripes.chunk,
        ))
    }

    /// Returns the noise of short reads, one at a time.
    pub(crate) fn crossing_noise(&self) -> f64 {
        let of = |crosses: bool| -> Vec<f64> {
            let reads = self.crossings.iter().filter(|read| read.crosses == crosses);
            reads.map(|read| read.took).collect()
        };
        let (within, across) = (of(false), of(true));
        let noise = if within.is_empty() { spread(&across) } else { spread(&within) };
        noise.max(0.005 * median(&across)).max(1.0)
    }

    /// Returns the evidence for a number of units.
    pub(super) fn because(&self, units: u32) -> String {
        match (self.is_deep(), units) {
            (true, 1) => {
                "reads with many in flight take the same time at every stride, and short reads \
                          across the edge of any two pages take two reads of the flash"
                    .into()
            }
            (true, _) => format!(
                "reads with many in flight take longest at strides that return to one of {units} \
                                units",
            ),
            (false, 1) => {
                "short reads across the edge of any two pages take two reads of the flash, \
                           and writes take as many programs as pages"
                    .into()
            }
            (false, _) => {
                format!("writes of several pages take steps that {units} units explain best")
            }
        }
    }

    /// Returns the reason that the number of units is unknown.
    pub(crate) fn why_unknown(&self) -> &'static str {
        match self.is_deep() {
            true => "no stride makes reads wait for each other long enough to stand out from noise",
            false => "the drive takes one request at a time, and long requests show no units",
        }
    }
}

/// Returns the median of the lower half of the write times; the writes of the upper half may have
/// waited for a merge.
fn lower_half(pages: u32, mut took: Vec<f64>) -> Span {
    took.sort_unstable_by(f64::total_cmp);
    let lower = &took[..took.len().div_ceil(2)];
    let error = spread(lower) * 2.0 / (took.len() as f64).sqrt();
    Span { pages, took: median(lower), error }
}
