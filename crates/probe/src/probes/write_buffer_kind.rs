//! The kind of write buffer: its handling of rewritten pages.
//!
//! A *queue* takes each write of the same page as another entry; rewriting one page fills the
//! queue. A buffer with *rewrites* keeps one entry per page, and each rewrite stays fast.
//!
//! A buffer with rewrites evicts single pages, the least recently written first, or *whole blocks*.
//! If it evicts blocks, a write to another page of the block keeps a page in the buffer. The probe
//! writes a page, then other pages that nearly fill the buffer, then the page's neighbour, and then
//! other pages until the first page would have to leave. A read shows whether the first page is
//! still in the buffer.

use flashscope_block::{Nanos, Op};

use super::write_buffer::{Bursts, response_times, unit};
use crate::outcome::Outcome;
use crate::{Cost, Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, spread};
use flashscope_document::probe::{Shape, Signal};

/// Minimum number of reads for a median.
const READS: usize = 24;

/// Maximum number of rewrites of one page.
const MAX_REWRITES: usize = 8192;

pub(super) const PROBE: Probe = Probe {
    name: "write-buffer-kind",
    summary: "writes one page repeatedly, and reads pages whose neighbour was written later, to see \
                 whether a buffer keeps one copy of a page, and whether it evicts whole blocks",
    source: "Kim and Ahn, BPLRU, FAST 2008, section 3",
    finds: &[Parameter::WriteBufferKind],
    assumes: &[Parameter::WriteBuffer, Parameter::PageSize],
    writes: true,
    cost: |scene, knowledge| {
        let size = knowledge.whole(Parameter::WriteBuffer).unwrap_or(0);
        let Cost { written, time } = scene.cost(100, 8 * size / unit(knowledge), unit(knowledge));
        Cost { written, time }
    },
    run,
};

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    const KIND: Parameter = Parameter::WriteBufferKind;
    let lacking = knowledge.finding(Parameter::WriteBuffer);
    if let Some(lacking) = lacking.filter(|_| knowledge.lacks(Parameter::WriteBuffer)) {
        let finding = Finding::absent(KIND, lacking.probability);
        return Ok(vec![finding.because("there is no write buffer").shown_by(lacking)].into());
    }
    let Some(size) = knowledge.whole(Parameter::WriteBuffer) else {
        let why = "the size of the write buffer is not known";
        return Ok(vec![Finding::unknown(KIND, why)].into());
    };
    lab.ensure_filled()?;
    let unit = unit(knowledge);
    let holds = usize::try_from(size / unit).unwrap_or(usize::MAX).max(2);
    let mut bursts = Bursts::new(lab, unit)?;
    let again = again(lab, &mut bursts, holds)?;
    let finding = match again.waits() {
        true => again.queue(),
        false => {
            let others = others(lab, &mut bursts, &again)?;
            match others.left() {
                Some((left, error)) if others.all_left() => others.queue(left, error),
                _ => pages(lab, &mut bursts, holds)?.finding(&again),
            }
        }
    };
    Ok(vec![finding.signal(again.picture()).runs(bursts.runs)].into())
}

/// Rewrites of one page.
struct Again {
    /// The time of each write, in nanoseconds.
    costs: Vec<f64>,
    /// The number of writes that fill the buffer.
    holds: usize,
}

/// Writes one page repeatedly.
fn again(lab: &mut Lab<'_>, bursts: &mut Bursts, holds: usize) -> Result<Again, Halt> {
    let count = (2 * holds + 32).min(MAX_REWRITES);
    let mut requests = Vec::new();
    let offset = lab.random_offset(&(0..lab.capacity()), bursts.unit, bursts.unit);
    bursts.begin(&mut requests, (0..count).map(|_| Request::write(offset, bursts.unit)));
    let run = lab.run("one page written repeatedly", requests)?;
    bursts.note(&run);
    Ok(Again { costs: response_times(&run, Op::Write), holds })
}

impl Again {
    /// Returns the times of the first writes and of the last writes.
    fn ends(&self) -> (&[f64], &[f64]) {
        let count = self.costs.len();
        (&self.costs[..(self.holds / 2).clamp(1, count)], &self.costs[count - count / 3..])
    }

    /// Returns true if the last writes wait, although only one page is written.
    fn waits(&self) -> bool {
        let (first, last) = self.ends();
        median(last) > 1.25 * median(first) + 2.0 * spread(first)
    }

    /// Returns one and a half times the time of `count` writes.
    fn time_of(&self, count: usize) -> Nanos {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
        let all = self.costs.iter().sum::<f64>() as u64;
        Nanos(3 * all * count as u64 / (2 * self.costs.len().max(1) as u64))
    }

    /// Returns the probability of the conclusion.
    fn sure(&self) -> f64 {
        let (first, last) = self.ends();
        let ratio = median(last) / median(first).max(1.0);
        let off = (ratio / 1.25).ln().abs() / 0.5;
        0.985 - 0.2 * (-3.0 * off).exp()
    }

    fn queue(&self) -> Finding {
        let (first, last) = self.ends();
        Finding::class(Parameter::WriteBufferKind, "queue", self.sure()).because(format!(
            "writing one page repeatedly takes {:.3} ms at first, and {:.3} ms when a buffer would be full of \
                        its copies",
            median(first) / 1e6,
            median(last) / 1e6
        ))
    }

    fn picture(&self) -> Signal {
        let points = self.costs.iter().zip(1u32..).map(|(cost, nth)| (f64::from(nth), cost / 1e6));
        Signal::new(
            "Cost of writing one page repeatedly",
            "write",
            "response time (ms)",
            Shape::Points,
        )
        .series("one page", points)
    }
}

/// Tests whether a rewritten page evicts other pages. If the drive writes out as fast as the host
/// writes, the rewrites never wait for room in the queue. Their copies still push the other pages
/// out of the queue.
///
/// For comparison, the pages are also read after a pause that is longer than the rewrites take. If
/// the buffer drains in the background, the pages have left it then as well, and the test shows
/// nothing.
fn others(lab: &mut Lab<'_>, bursts: &mut Bursts, again: &Again) -> Result<Pages, Halt> {
    let mut pages = Pages::default();
    let (unit, count) = (bursts.unit, again.holds * 5 / 4 + 2);
    let at_once = (again.holds / 4).clamp(1, 8);
    let pause = again.time_of(count);
    for _ in 0..READS.div_ceil(at_once) {
        let space = 0..lab.capacity();
        let mut some = || lab.random_offset(&space, 2 * unit, 2 * unit);
        let (one, others) = (some(), (0..at_once).map(|_| some()).collect::<Vec<u64>>());
        let mut requests = Vec::new();
        let reads = || others.iter().map(|offset| Request::read(*offset, unit));
        for written in [0, count] {
            bursts.begin(&mut requests, others.iter().map(|offset| Request::write(*offset, unit)));
            requests.extend((0..written).map(|_| Request::write(one, unit)));
            let first = requests.len();
            requests.extend(reads());
            let after = if written == 0 { pause } else { Nanos(0) };
            requests[first] = requests[first].after(after);
        }
        bursts.begin(&mut requests, reads());
        let run = lab.run("reads of pages after another page was written repeatedly", requests)?;
        let times = response_times(&run, Op::Read);
        let (here, rest) = times.split_at(at_once);
        let (first, flash) = rest.split_at(at_once);
        pages.neighbours.extend(here);
        pages.first.extend(first);
        pages.flash.extend(flash);
        bursts.note(&run);
    }
    Ok(pages)
}

/// Times of reads of pages after other writes.
#[derive(Default)]
struct Pages {
    /// The tested pages, which later writes may have evicted from the buffer.
    first: Vec<f64>,
    /// Pages that are still in the buffer.
    neighbours: Vec<f64>,
    /// The tested pages, after a flush and an idle pause.
    flash: Vec<f64>,
}

/// Writes some pages, then other pages, then the neighbours of the first pages, then again other
/// pages. Then reads the first pages and their neighbours.
fn pages(lab: &mut Lab<'_>, bursts: &mut Bursts, holds: usize) -> Result<Pages, Halt> {
    let mut pages = Pages::default();
    let at_once = (holds / 16).clamp(1, 8);
    for _ in 0..READS.div_ceil(at_once) {
        let unit = bursts.unit;
        let space = 0..lab.capacity();
        // Only few writes follow the neighbours, and even a buffer that keeps half of its space
        // free still holds the neighbours. An even page and the next page belong to the same
        // block, whatever the block size.
        let mut some = |count: usize| -> Vec<u64> {
            (0..count).map(|_| lab.random_offset(&space, 2 * unit, 2 * unit)).collect()
        };
        let first = some(at_once);
        let (before, behind) = (some(holds * 8 / 10 + 1), some(holds * 35 / 100));
        let neighbours: Vec<u64> = first.iter().map(|offset| offset + unit).collect();
        let mut requests = Vec::new();
        let writes = [&first, &before, &neighbours, &behind].into_iter().flatten();
        bursts.begin(&mut requests, writes.map(|offset| Request::write(*offset, unit)));
        for (first, neighbour) in first.iter().zip(&neighbours) {
            requests.push(Request::read(*neighbour, unit));
            requests.push(Request::read(*first, unit));
        }
        bursts.begin(&mut requests, first.iter().map(|offset| Request::read(*offset, unit)));
        let run = lab.run("pages whose neighbour was written later", requests)?;
        pages.note(&run, at_once);
        bursts.note(&run);
    }
    Ok(pages)
}

impl Pages {
    fn note(&mut self, run: &Run, at_once: usize) {
        let reads = response_times(run, Op::Read);
        let (here, flash) = reads.split_at(2 * at_once);
        self.neighbours.extend(here.iter().step_by(2));
        self.first.extend(here.iter().skip(1).step_by(2));
        self.flash.extend(flash);
    }

    /// Returns the relative read time of the first pages, from 0 (as in the buffer) to 1 (as on the
    /// flash), and its standard error. Returns `None` if reads do not show the difference.
    #[allow(clippy::cast_precision_loss, reason = "reads are few")]
    fn left(&self) -> Option<(f64, f64)> {
        let (here, flash) = (median(&self.neighbours), median(&self.flash));
        let error = |reads: &[f64]| 1.57 * spread(reads).powi(2) / reads.len().max(1) as f64;
        let levels = error(&self.neighbours) + error(&self.flash);
        let (apart, noise) = (flash - here, levels.sqrt().max(0.01 * flash));
        let tells = apart > 4.0 * noise && here < 0.93 * flash;
        // Reads from the flash may wait for writes, which makes them longer and more variable.
        let all = (levels + error(&self.first)).sqrt().max(0.01 * flash);
        tells.then(|| ((median(&self.first) - here) / apart, all / apart))
    }

    /// Returns true if nearly all tested pages have left the buffer, and nearly none of the other
    /// pages.
    #[allow(clippy::cast_precision_loss, reason = "reads are few")]
    fn all_left(&self) -> bool {
        let middle = 0.5 * (median(&self.neighbours) + median(&self.flash));
        let slow = |reads: &[f64]| {
            reads.iter().filter(|read| **read > middle).count() as f64 / reads.len().max(1) as f64
        };
        slow(&self.first) > 0.8 && slow(&self.neighbours) < 0.2
    }

    fn queue(&self, left: f64, error: f64) -> Finding {
        let because = format!(
            "pages in the buffer are read in {:.3} ms and from the flash in {:.3} ms. After another page was \
                        written often enough to fill the buffer with its copies, they are read in {:.3} ms: the \
                        copies evicted them",
            median(&self.neighbours) / 1e6,
            median(&self.flash) / 1e6,
            median(&self.first) / 1e6
        );
        let sure = sure(left, error);
        let signal = self.picture("Reads of pages after another page was written repeatedly");
        Finding::class(Parameter::WriteBufferKind, "queue", sure).because(because).signal(signal)
    }

    fn finding(&self, again: &Again) -> Finding {
        const KIND: Parameter = Parameter::WriteBufferKind;
        let Some((left, error)) = self.left() else {
            let why = "reads do not distinguish data in the buffer from data on the flash";
            return Finding::unknown(KIND, why);
        };
        let sure = sure(left, error).min(again.sure());
        let (class, what) = match left < 0.5 {
            true => ("blocks", "like pages in the buffer: it stayed with its neighbour"),
            false => ("rewrites", "like pages on the flash: it left without its neighbour"),
        };
        let because = format!(
            "one page written repeatedly stays fast; pages in the buffer are read in {:.3} ms \
             and from the flash in {:.3} ms, and a page whose neighbour was written later in {:.3} ms \
             {what}",
            median(&self.neighbours) / 1e6,
            median(&self.flash) / 1e6,
            median(&self.first) / 1e6
        );
        Finding::class(KIND, class, sure)
            .because(because)
            .signal(self.picture("Reads of pages whose neighbour was written later"))
    }

    fn picture(&self, title: &str) -> Signal {
        let points = |reads: &[f64]| -> Vec<(f64, f64)> {
            reads.iter().zip(1u32..).map(|(read, nth)| (f64::from(nth), read / 1e6)).collect()
        };
        Signal::new(title, "read", "response time (ms)", Shape::Points)
            .series("the pages", points(&self.first))
            .series("pages in the buffer", points(&self.neighbours))
            .series("the pages on the flash", points(&self.flash))
    }
}

/// Returns the probability that a share is on the measured side of one half.
fn sure(share: f64, error: f64) -> f64 {
    let z = (share - 0.5).abs() / error.max(0.05);
    (1.0 / (1.0 + (-1.702 * z).exp())).min(0.985)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(cost: f64) -> Vec<f64> {
        (0..24).map(|i| cost * (1.0 + f64::from(i * 7 % 10) / 50.0)).collect()
    }

    fn class(finding: &Finding) -> Option<&str> {
        match &finding.answer {
            crate::Answer::Class { class } => Some(class),
            _ => None,
        }
    }

    #[test]
    fn rewrites_of_one_page_fill_only_a_queue() {
        let costs = |full: f64| (0..96).map(|i| if i < 32 { 50e3 } else { full }).collect();
        let again = |full| Again { costs: costs(full), holds: 32 };
        assert!(again(300e3).waits() && again(300e3).queue().probability > 0.95);
        assert!(!again(51e3).waits());
    }

    #[test]
    fn a_page_kept_with_its_neighbour_shows_a_buffer_of_blocks() {
        let again = Again { costs: vec![50e3; 96], holds: 32 };
        let pages = |first, flash| {
            Pages { first: reads(first), neighbours: reads(60e3), flash: reads(flash) }
                .finding(&again)
        };
        assert_eq!(class(&pages(60e3, 180e3)), Some("blocks"));
        assert_eq!(class(&pages(180e3, 180e3)), Some("rewrites"));
        assert_eq!(class(&pages(60e3, 61e3)), None);
    }

    // A buffer that drains in a pause shows nothing.
    #[test]
    fn a_queue_evicts_other_pages() {
        let pages = |first, neighbours| Pages {
            first: reads(first),
            neighbours: reads(neighbours),
            flash: reads(180e3),
        };
        assert!(pages(180e3, 60e3).all_left());
        assert!(!pages(60e3, 60e3).all_left());
        assert!(!pages(180e3, 180e3).all_left());
    }
}
