use std::collections::{BTreeMap, HashSet};

use flashscope_block::Io;

use super::*;

const KIB: u64 = 1024;

fn sizes(shares: &[(u64, u32)]) -> Vec<SizeShare> {
    shares
        .iter()
        .map(|(kib, weight)| SizeShare { size: Bytes::kib(*kib), weight: *weight })
        .collect()
}

/// 256 random reads of 4 KiB in 1 MiB from 512 KiB on.
fn job() -> Job {
    Job {
        name: "a".into(),
        processes: 1,
        process_shift: Bytes(0),
        places: JobAddresses::Covering,
        reads_percent: 100,
        op: Op::Write,
        read_sizes: sizes(&[(4, 1)]),
        other_sizes: vec![],
        target_offset: Bytes::kib(512),
        target_size: Bytes::MIB,
        end: Some(Bytes::MIB),
        most_ios: None,
        time: None,
        delay: Nanos(0),
        think: None,
        flush_every: None,
        queue_depth: 1,
        seed: 7,
    }
}

fn writes(shares: &[(u64, u32)]) -> Job {
    Job { reads_percent: 0, read_sizes: vec![], other_sizes: sizes(shares), ..job() }
}

fn mixed(places: JobAddresses) -> Job {
    Job { reads_percent: 70, other_sizes: sizes(&[(4, 1)]), places, ..job() }
}

/// Returns the IOs of each process, if each IO takes 1 ms.
fn run(job: &Job) -> Vec<Vec<Io>> {
    job.validate(Bytes::mib(8), Bytes(512)).unwrap();
    let streams = job.streams(3).map(|mut stream| {
        let mut previous = Nanos::secs(5);
        let ios = std::iter::from_fn(move || {
            let io = stream.next(previous)?;
            previous = io.at + Nanos::millis(1);
            Some(io)
        });
        ios.collect()
    });
    streams.collect()
}

fn only(job: &Job) -> Vec<Io> {
    run(job).remove(0)
}

fn offsets(ios: &[Io]) -> Vec<u64> {
    ios.iter().map(|io| (io.offset.0 - 512 * KIB) / (4 * KIB)).collect()
}

#[test]
fn a_covering_job_reaches_each_place_once_in_each_pass() {
    let job = Job { end: Some(Bytes::mib(2)), ..job() };
    let places = offsets(&only(&job));
    assert_eq!(places.len(), 512);
    let (first, second) = places.split_at(256);
    for pass in [first, second] {
        assert_eq!(pass.iter().collect::<HashSet<_>>().len(), 256);
    }
    assert_ne!(first, second);
    let rises = first.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!((90..166).contains(&rises), "{rises}");
}

#[test]
fn several_sizes_cover_the_space_without_overlap() {
    let ios = only(&writes(&[(4, 50), (16, 50)]));
    let mut units = HashSet::new();
    for io in &ios {
        for unit in io.offset.0 / 4096..io.end().0 / 4096 {
            assert!(units.insert(unit), "{unit} comes twice");
        }
    }
    assert_eq!(units.len(), 256);
    // An IO is as long as the free places allow.
    assert!(
        ios.iter().any(|io| io.len == Bytes::kib(16))
            && ios.iter().any(|io| io.len == Bytes::kib(8))
    );
}

#[test]
fn independent_places_repeat_and_end_with_the_bytes() {
    let job = Job { places: JobAddresses::Independent, ..writes(&[(4, 3), (64, 1)]) };
    let ios = only(&Job { end: Some(Bytes::mib(64)), ..job });
    let bytes: u64 = ios.iter().map(|io| io.len.0).sum();
    assert!((Bytes::mib(64).0..Bytes::mib(64).0 + 64 * KIB).contains(&bytes));
    // 64 KiB IOs fit at all but 15 of 256 places; the shares are therefore nearly those of the job.
    let large = ios.iter().filter(|io| io.len == Bytes::kib(64)).count();
    let share = 100 * large / ios.len();
    assert!((21..27).contains(&share), "{share} %");
    assert!(ios.iter().all(|io| io.offset >= Bytes::kib(512) && io.end() <= Bytes::kib(1536)));
}

#[test]
fn reads_and_writes_of_a_sequential_mix_have_orders_of_their_own() {
    let ios = only(&mixed(JobAddresses::Sequential));
    assert_eq!(ios.len(), 256);
    for op in [Op::Read, Op::Write] {
        let ios: Vec<Io> = ios.iter().filter(|io| io.op == op).copied().collect();
        assert_eq!(offsets(&ios), (0..ios.len() as u64).collect::<Vec<_>>());
    }
    let reads = ios.iter().filter(|io| io.op == Op::Read).count();
    assert!((140..220).contains(&reads), "{reads}");
}

#[test]
fn skewed_places_follow_their_laws() {
    let frequencies = |places| {
        let job = Job { places, end: Some(Bytes::mib(400)), ..job() };
        let mut counts = BTreeMap::<u64, u64>::new();
        offsets(&only(&job)).into_iter().for_each(|place| *counts.entry(place).or_default() += 1);
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    };
    #[allow(clippy::cast_precision_loss)]
    let top = |counts: &[u64], n: usize| counts[..n].iter().sum::<u64>() as f64 / 102_400.0;
    // The sum of 1/k^1.2 over 1 to 10 and over 1 to 256: 2.47 of 3.94.
    let zipf = frequencies(JobAddresses::Zipf { exponent: 1.2 });
    assert!((top(&zipf, 10) - 0.626).abs() < 0.01, "{}", top(&zipf, 10));
    // A fifth of the places takes four fifths of the IOs.
    let pareto = frequencies(JobAddresses::Pareto { share: 0.2 });
    assert!((top(&pareto, 51) - 0.8).abs() < 0.01, "{}", top(&pareto, 51));
}

#[test]
fn processes_have_spaces_and_random_numbers_of_their_own() {
    let job = Job { processes: 3, process_shift: Bytes::MIB, ..job() };
    let processes = run(&job);
    assert_eq!(job.target_space(), (Bytes::kib(512), Bytes::mib(3)));
    for (nth, ios) in (0..).zip(&processes) {
        let start = Bytes(512 * KIB + nth * Bytes::MIB.0);
        assert_eq!(ios.len(), 256);
        assert!(ios.iter().all(|io| io.offset >= start && io.end().0 <= start.0 + Bytes::MIB.0));
        assert!(ios.iter().all(|io| u64::from(io.stream) == 3 + nth));
    }
    let order =
        |nth: usize| processes[nth].iter().map(|io| io.offset.0 % Bytes::MIB.0).collect::<Vec<_>>();
    assert_ne!(order(0), order(1));
    assert_eq!(run(&job), processes);
    assert_ne!(run(&Job { seed: 8, ..job }), processes);
}

#[test]
fn counts_and_times_end_a_job() {
    assert_eq!(only(&Job { most_ios: Some(10), ..job() }).len(), 10);
    // The job issues an IO each millisecond, after a delay of 10 ms that does not count.
    let timed = Job { time: Some(Nanos::millis(50)), end: None, delay: Nanos::millis(10), ..job() };
    let ios = only(&timed);
    assert_eq!((ios.len(), ios[0].at), (50, Nanos::secs(5) + Nanos::millis(10)));
    assert_eq!(timed.ends_after(), Some(Nanos::millis(60)));
    assert_eq!(timed.max_total_ios(), u64::MAX);
}

#[test]
fn pauses_and_flushes_come_between_ios() {
    let think = Some(ThinkTime { pause: Nanos::millis(9), ios: 100 });
    let ios = only(&Job { think, ..job() });
    let pauses: Vec<usize> =
        (1..256).filter(|nth| ios[*nth].at > ios[nth - 1].at + Nanos::millis(1)).collect();
    assert_eq!(pauses, [100, 200]);
    let ios = only(&Job { flush_every: Some(16), ..writes(&[(4, 1)]) });
    let flushes: Vec<usize> = (0..ios.len())
        .filter(|nth| ios[*nth].op == Op::Flush && ios[*nth].len == Bytes(0))
        .collect();
    // There is no flush after the last write.
    assert_eq!(flushes, (1..16).map(|nth| nth * 17 - 1).collect::<Vec<_>>());
    assert_eq!(ios.len(), 256 + 15);
}

#[test]
fn a_reference_counts_the_streams_of_its_jobs() {
    use crate::pattern::Reference;
    let two = Job { processes: 2, queue_depth: 4, ..mixed(JobAddresses::Independent) };
    let jobs = Reference::Jobs { jobs: vec![job(), two, job()], io_ignore: 0, ramp: None };
    jobs.validate(Bytes::mib(8), Bytes(512)).unwrap();
    assert_eq!((jobs.streams_count(), jobs.in_flight(), jobs.parts_count()), (4, 10, 3));
    assert_eq!(jobs.queue_depths(), [1, 4, 4, 1]);
    assert_eq!([0, 1, 2, 3].map(|stream| jobs.part_of(9, stream)), [0, 1, 1, 2]);
    assert_eq!((jobs.io_count(), jobs.min_io_count(), jobs.writes()), (4 * 256, 0, true));
    assert!(jobs.queues_in_host(8) && !jobs.queues_in_host(10));
    let mut streams = jobs.streams(|_| Err("a trace")).unwrap();
    let numbers: Vec<_> =
        streams.iter_mut().map(|stream| stream.next(Nanos(0)).unwrap().stream).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[test]
fn a_job_describes_itself() {
    assert_eq!(job().to_string(), "a: random reads of 4 KiB");
    let split = Job { processes: 2, ..writes(&[(4, 60), (64, 40)]) };
    assert_eq!(split.to_string(), "a: random writes of 4 KiB (60 %) or 64 KiB (40 %), 2 processes");
    let skewed = mixed(JobAddresses::Zipf { exponent: 1.2 });
    assert_eq!(skewed.to_string(), "a: zipf 1.2 reads of 4 KiB and writes of 4 KiB, 70 % reads");
}

#[test]
fn impossible_jobs_are_refused_by_fios_names() {
    let refused = |job: Job| job.validate(Bytes::mib(8), Bytes(512)).unwrap_err().to_string();
    for (job, message) in [
        (Job { processes: 0, ..job() }, "numjobs = 0"),
        (Job { queue_depth: 0, ..job() }, "iodepth = 0"),
        (Job { reads_percent: 101, ..job() }, "rwmixread = 101"),
        (Job { read_sizes: vec![], ..job() }, "bs = 0 B"),
        (writes(&[(4, 1), (8, 0)]), "bssplit"),
        (Job { op: Op::Flush, ..writes(&[(4, 1)]) }, "rw = flush"),
        (Job { target_offset: Bytes(100), ..job() }, "offset = 100 B: must be a multiple"),
        (Job { target_size: Bytes::mib(9), ..job() }, "TargetSize = 9 MiB: only"),
        (Job { process_shift: Bytes::mib(4), processes: 3, ..job() }, "TargetSize"),
        (Job { target_size: Bytes(512), ..job() }, "size = 512 B: an IO of 4 KiB does not fit"),
        (Job { end: None, ..job() }, "nothing else ends the job"),
        (Job { time: Some(Nanos(0)), ..job() }, "the job has no IO"),
        (Job { flush_every: Some(0), ..job() }, "at least one"),
        (Job { places: JobAddresses::Zipf { exponent: 0.0 }, ..job() }, "random_distribution = 0"),
        (Job { places: JobAddresses::Pareto { share: 1.0 }, ..job() }, "pareto has a share"),
        (
            Job { other_sizes: sizes(&[(8, 1)]), reads_percent: 50, ..job() },
            "`norandommap` removes this limit",
        ),
    ] {
        let error = refused(job);
        assert!(error.contains(message), "{message}: {error}");
    }
}
