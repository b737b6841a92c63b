//! Warnings about a trace.

use flashscope_block::{Bytes, Nanos};

use super::alignment::AlignmentCounts;
use super::per_second;
use super::time::Clock;
use flashscope_document::trace::{Doubt, DoubtKind, TimeFacts};

/// The highest rate that any drive serves: 10 million requests per second.
const MAX_RATE: f64 = 1e7;

/// The mean rate above which a trace is unlikely to come from a disk or a SATA drive. Native
/// command queuing with 32 commands of 160 us serves 200,000 requests per second.
const MAX_SATA_RATE: f64 = 2e5;

/// The longest plausible trace: three years.
const MAX_DURATION: Nanos = Nanos(3 * 365 * 86_400_000_000_000);

/// The largest plausible request: 1 GiB. Operating systems split larger requests.
const MAX_REQUEST: u64 = 1 << 30;

/// The largest plausible volume: 1 PiB.
const MAX_VOLUME: u64 = 1 << 50;

/// Minimum number of requests for a meaningful rate.
const ENOUGH: u64 = 100;

/// A check that returns a warning if it applies.
type Check = fn(&DoubtInput) -> Option<(DoubtKind, String)>;

const CHECKS: [Check; 10] = [
    empty,
    backwards,
    no_time,
    whole_seconds,
    rate,
    span,
    sizes,
    partial_sectors,
    addresses,
    misaligned,
];

/// The input of the checks.
pub(super) struct DoubtInput<'a> {
    pub requests: u64,
    pub accesses: u64,
    pub clock: &'a Clock,
    pub time: &'a TimeFacts,
    /// The smallest and the largest size of an access.
    pub sizes: Option<(u64, u64)>,
    pub large: u64,
    pub alignments: &'a AlignmentCounts,
    pub highest_end: u64,
}

/// Returns all warnings.
pub(super) fn doubts(seen: &DoubtInput) -> Vec<Doubt> {
    let found = CHECKS.iter().filter_map(|check| check(seen));
    found.map(|(kind, text)| Doubt { kind, text }).collect()
}

fn empty(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let text = "the trace contains no requests".into();
    (seen.requests == 0).then_some((DoubtKind::Empty, text))
}

fn backwards(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let TimeFacts { backwards, longest_backwards_ns, .. } = seen.time;
    let first = seen.time.first_backwards?;
    let text = format!(
        "the time goes backwards at {backwards} of {} requests, first at request {first}, by up to \
         {longest_backwards_ns}: the trace may be sorted by completion, or come from several \
         processors; statistics over time give such a request the latest time before it",
        seen.requests
    );
    Some((DoubtKind::Backwards, text))
}

fn no_time(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let text = "all requests have the same time: there are no rates or windows".into();
    (seen.requests > 1 && seen.time.span_ns == Nanos(0)).then_some((DoubtKind::NoTime, text))
}

fn whole_seconds(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let text = "all times are whole seconds: shorter gaps and bursts are not visible";
    (seen.requests > 1 && seen.clock.whole_seconds())
        .then(|| (DoubtKind::WholeSeconds, text.into()))
}

fn rate(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let rate = per_second(seen.requests, seen.time.span_ns)?;
    let than = match rate {
        rate if rate > MAX_RATE => "more than any drive serves",
        rate if rate > MAX_SATA_RATE => "more than any disk or SATA drive serves",
        _ => return None,
    };
    let text = format!(
        "{rate:.3e} requests arrive per second, {than}: times may be in a longer unit than the \
         format says (`--speed` scales them: 0.001 if they are a thousand times too short)"
    );
    (seen.requests >= ENOUGH).then_some((DoubtKind::Rate, text))
}

fn span(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let years = seen.time.span_ns.as_secs_f64() / (365.0 * 86_400.0);
    let text = format!(
        "it spans {years:.1} years: times may be in a shorter unit than the format says (`--speed` \
         scales them: 1000 if they are a thousand times too long), or some are wrong"
    );
    (seen.time.span_ns > MAX_DURATION).then_some((DoubtKind::Span, text))
}

fn sizes(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let (_, largest) = seen.sizes?;
    if largest > MAX_REQUEST {
        let text = format!(
            "{} accesses are larger than 1 GiB, up to {}, although operating systems split such \
             accesses: sizes may be in a smaller unit than the format says (`--sector` sets the \
             sector size of formats that count sectors); only the first 1 GiB of each access \
             counts for footprint, working set and concentration",
            seen.large,
            Bytes(largest)
        );
        return Some((DoubtKind::LargeRequests, text));
    }
    let text = format!(
        "no access is larger than {largest} B: sizes and offsets may be in sectors where the \
         format says bytes (for formats that count sectors, `--sector` sets their size)"
    );
    (seen.accesses >= ENOUGH && largest < 512).then_some((DoubtKind::SmallRequests, text))
}

fn partial_sectors(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let count = seen.alignments.partial_sectors();
    let text = format!(
        "{count} of {} accesses do not consist of whole sectors of 512 B: the trace may record \
         calls to a file instead of requests to a drive, or sizes and offsets may be in another \
         unit",
        seen.accesses
    );
    (count > 0).then_some((DoubtKind::PartialSectors, text))
}

fn addresses(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let text = format!(
        "addresses go up to {}, beyond any volume: they may be in a smaller unit than the format \
         says (`--sector` sets the sector size of formats that count sectors), or may not be \
         addresses of a volume",
        Bytes(seen.highest_end)
    );
    (seen.highest_end > MAX_VOLUME).then_some((DoubtKind::Addresses, text))
}

fn misaligned(seen: &DoubtInput) -> Option<(DoubtKind, String)> {
    let found = seen.alignments.misalignment()?;
    let text = format!(
        "{:.1} % of accesses begin at LBA mod 8 = {}, and may touch one more page of 4 KiB \
         than necessary: a partition may begin there; `--realign` corrects this by adding {} B to \
         all offsets",
        100.0 * found.share,
        found.lba_mod_8,
        found.shift_bytes.0
    );
    Some((DoubtKind::Misaligned, text))
}
