//! Runs job files with fio, and compares its IOs with those that flashscope plans.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use flashscope_block::{Io, Nanos, Op};

use super::*;

/// The IOs of a process: operation, offset and length.
type Ios = Vec<(Op, u64, u64)>;

fn is_installed() -> bool {
    let found = Command::new("fio").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: fio is not installed");
    }
    found
}

/// Returns the IOs of each process that fio runs, in the order of the processes, and its flushes.
fn by_fio(options: &str) -> (Vec<Ios>, u64) {
    let place = tempfile::tempdir().unwrap();
    let text = format!(
        "[a]\nfilename=x.img\nlog_avg_msec=0\nlog_offset=1\nwrite_lat_log=a\nfallocate=none\n{options}\n"
    );
    std::fs::write(place.path().join("a.fio"), text).unwrap();
    let mut command = Command::new("fio");
    command.current_dir(place.path()).args(["--output-format=json", "--output=a.json", "a.fio"]);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{options}: {}", String::from_utf8_lossy(&done.stderr));
    let json = std::fs::read_to_string(place.path().join("a.json")).unwrap();
    let json = &json[json.find('{').unwrap()..];
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let flushes = json["jobs"][0]["sync"]["total_ios"].as_u64().unwrap();
    let log = |nth: usize| read_log(&place.path().join(format!("a_lat.{nth}.log")));
    ((1..).map_while(log).collect(), flushes)
}

fn read_log(path: &Path) -> Option<Ios> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = |line: &str| {
        let fields: Vec<u64> =
            line.split(',').map_while(|field| field.trim().parse().ok()).collect();
        (Op::from_code(u8::try_from(fields[2]).unwrap()).unwrap(), fields[4], fields[3])
    };
    Some(text.lines().map(line).collect())
}

/// Returns the IOs of each process that flashscope plans, and its flushes.
fn by_flashscope(options: &str) -> (Vec<Ios>, u64) {
    let file = JobFile::parse(&format!("[a]\n{options}\n")).unwrap();
    let runs = file.runs(Bytes::mib(64), 1).unwrap();
    runs[0].validate(Bytes::mib(64), Bytes(16)).unwrap();
    let streams = runs[0].streams(|_| Err("a trace")).unwrap();
    let mut flushes = 0;
    let processes = streams.into_iter().map(|mut stream| {
        let all: Vec<Io> = std::iter::from_fn(|| stream.next(Nanos(0))).collect();
        flushes += all.iter().filter(|io| io.op == Op::Flush).count() as u64;
        let ios = all.iter().filter(|io| io.op != Op::Flush);
        ios.map(|io| (io.op, io.offset.0, io.len.0)).collect()
    });
    (processes.collect(), flushes)
}

/// Returns the number, the start and the end of the IOs of each operation.
fn extents(ios: &Ios) -> BTreeMap<u8, (usize, u64, u64)> {
    let mut extents = BTreeMap::new();
    for (op, offset, len) in ios {
        let (count, start, end) = extents.entry(op.code()).or_insert((0, u64::MAX, 0));
        (*count, *start, *end) = (*count + 1, (*start).min(*offset), (*end).max(offset + len));
    }
    extents
}

fn sorted(mut ios: Ios) -> Ios {
    ios.sort_unstable_by_key(|(op, offset, len)| (op.code(), *offset, *len));
    ios
}

/// The IOs of these jobs are deterministic, except for their order.
#[test]
fn jobs_without_chance_have_the_ios_of_fio() {
    if !is_installed() {
        return;
    }
    for options in [
        "rw=write\nbs=4k\nsize=10k",
        "rw=write\nbs=4kib\nsize=100000",
        "rw=read\nbs=16k\nsize=1m\noffset=512k",
        "rw=randread\nbs=4k\nsize=1m",
        "rw=randread\nbs=4k\nsize=1026k",
        "rw=randwrite\nbs=4k\nsize=1m\nloops=2",
        "rw=randread\nbs=4k\nsize=1m\nnumber_ios=1000",
        "rw=write\nbs=4k\nsize=1m\nnumber_ios=100",
        "rw=randread\nbs=4k\nsize=1m\nio_size=2m",
        "rw=write\nbs=4k\nsize=1m\nio_size=1536k",
        "rw=write\nbs=4k\nsize=1m\nio_size=256k",
        "rw=randread\nbs=8k\nsize=1m\nioengine=libaio\niodepth=8\ndirect=0",
        "rw=randread\nbs=4k,64k\nsize=1m\noffset=64k",
        "rw=write\nbs=4k\nsize=256k\nfsync=16",
        "rw=randwrite\nbs=4k\nsize=256k\nfsync=5",
        "rw=read\nbs=4k\nsize=256k\nthinktime=100\nthinktime_blocks=16",
    ] {
        let (fio, flushes) = by_fio(options);
        let (ours, our_flushes) = by_flashscope(options);
        assert_eq!((ours.len(), our_flushes), (fio.len(), flushes), "{options}");
        for (ours, fio) in ours.into_iter().zip(fio) {
            assert_eq!(extents(&ours), extents(&fio), "{options}");
            assert_eq!(sorted(ours), sorted(fio), "{options}");
        }
    }
}

/// Sorts the processes, because fio starts them in any order.
#[test]
fn processes_have_the_spaces_of_fio() {
    if !is_installed() {
        return;
    }
    for options in [
        "rw=read\nbs=4k\nsize=1m\nnumjobs=3\noffset_increment=256k",
        "rw=randread\nbs=4k\nsize=512k\nnumjobs=2",
    ] {
        let (fio, ours) = (by_fio(options).0, by_flashscope(options).0);
        let spaces = |processes: &[Ios]| {
            let mut spaces: Vec<_> = processes.iter().map(extents).collect();
            spaces.sort();
            spaces
        };
        assert_eq!(spaces(&ours), spaces(&fio), "{options}");
    }
}

/// These jobs choose operations, sizes or offsets at random. Their numbers of IOs, their bytes and
/// their mix agree with those of fio to within 5 % plus 60 IOs, offsets or bytes.
#[test]
fn jobs_of_chance_have_the_mix_of_fio() {
    if !is_installed() {
        return;
    }
    for options in [
        "rw=rw\nbs=4k\nsize=16m\nrwmixread=70",
        "rw=randrw\nbs=4k\nsize=16m\nrwmixwrite=20",
        "rw=randwrite\nbssplit=4k/50:16k/50\nsize=32m",
        "rw=randwrite\nbssplit=4k/10:64k/50:32k/40\nsize=64m",
        "rw=randwrite\nbssplit=4k/50:16k/50\nsize=32m\nnorandommap",
        "rw=write\nbssplit=4k/50:16k/50\nsize=32m",
        "rw=randread\nbsrange=4k-16k\nsize=32m\nnorandommap",
        "rw=randread\nbs=4k\nsize=32m\nnorandommap",
        "rw=randread\nbs=4k\nsize=32m\nrandom_distribution=zipf:1.2",
        "rw=randread\nbs=4k\nsize=32m\nrandom_distribution=pareto:0.2",
    ] {
        let (fio, ours) = (by_fio(options).0.remove(0), by_flashscope(options).0.remove(0));
        let near = |what: &str, ours: usize, fio: usize| {
            let distance = ours.abs_diff(fio);
            let allowed = fio / 20 + 60;
            assert!(distance <= allowed, "{options}: {what}: {ours}, and fio has {fio}");
        };
        near("IOs", ours.len(), fio.len());
        let places = |ios: &Ios| {
            ios.iter()
                .map(|(_, offset, _)| *offset)
                .collect::<std::collections::BTreeSet<_>>()
                .len()
        };
        near("places", places(&ours), places(&fio));
        for (op, (count, ..)) in extents(&fio) {
            near("IOs of an operation", extents(&ours).get(&op).map_or(0, |own| own.0), count);
        }
        let bytes = |ios: &Ios| ios.iter().map(|(.., len)| usize::try_from(*len).unwrap()).sum();
        near("bytes", bytes(&ours), bytes(&fio));
        let mut lengths: Vec<u64> = fio.iter().map(|(.., len)| *len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        for len in lengths {
            let of = |ios: &Ios| ios.iter().filter(|(.., own)| *own == len).count();
            near(&format!("IOs of {len} B"), of(&ours), of(&fio));
        }
    }
}
