//! Tests documents that a command writes once, at its end: simulations, probes, profiles, what-ifs,
//! traces.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::disk::Disk;
use super::{ROOM, each_crash, run};
use crate::{Outcome, Scratch};

/// A command that writes a document, and a command that reads it.
struct DocumentCase {
    name: &'static str,
    /// The file or folder that the command creates.
    made: &'static str,
    write: &'static str,
    read: &'static str,
}

const TRACE: &str = "trace.csv";

/// The documents, one of each kind.
const CASES: &[DocumentCase] = &[
    DocumentCase {
        name: "a simulation",
        made: "s",
        write: "simulate --drive demo?flash.blocks_per_plane=16 --fill none --warmup none --ios 200 --output s",
        read: "report s --json",
    },
    DocumentCase {
        name: "a probe",
        made: "p",
        write: "probe sim:demo?flash.blocks_per_plane=16 --only page-size --output p",
        read: "report p --json",
    },
    DocumentCase {
        name: "the profile of a probe",
        made: "p.toml",
        write: "probe sim:demo?flash.blocks_per_plane=16 --only page-size --output p --profile p.toml",
        read: "what-if --drive sim:./p.toml --fill none --warmup none --ios 10 --change ftl=fast --repeats 1 --json",
    },
    DocumentCase {
        name: "a what-if",
        made: "w",
        write: "what-if --drive demo?flash.blocks_per_plane=16 --fill none --warmup none --ios 100 \
                --change over_provisioning=0.3 --repeats 1 --output w",
        read: "report w --json",
    },
    DocumentCase {
        name: "a trace in text",
        made: "t.csv",
        write: "trace convert trace.csv --output t.csv",
        read: "trace stat t.csv --json",
    },
    DocumentCase {
        name: "a compressed trace",
        made: "t.csv.zst",
        write: "trace convert trace.csv --output t.csv.zst",
        read: "trace stat t.csv.zst --json",
    },
    DocumentCase {
        name: "a trace in columns",
        made: "t.parquet",
        write: "trace convert trace.csv --output t.parquet",
        read: "trace stat t.parquet --json",
    },
];

/// Creates a disk with a trace.
fn disk(capacity: usize) -> Option<Disk> {
    let disk = Disk::mount(capacity)?;
    let line =
        |nth: u64| format!("{},h,0,Write,{},4096,10\n", 128_166_372_000_000_000 + nth, nth << 12);
    fs::write(disk.path().join(TRACE), (0..500).map(line).collect::<String>()).unwrap();
    Some(disk)
}

fn words(typed: &str) -> Vec<&str> {
    typed.split_whitespace().collect()
}

impl DocumentCase {
    /// Reads the document if it exists. An existing document must be complete.
    fn read(&self, place: &Scratch, folder: &Path, what: &str) -> Option<String> {
        let Outcome { status, stdout, stderr, .. } =
            Outcome::of(place.command(&words(self.read)).current_dir(folder));
        let what = format!("{}, {what}: {stderr}", self.name);
        assert!([0, 1, 2].contains(&status), "{what}");
        assert!(status == 0 || stderr.contains("is no") || stderr.contains("cannot"), "{what}");
        let is_there = folder.join(self.made).symlink_metadata().is_ok();
        assert_eq!(is_there, status == 0, "{what}: {} is there and cannot be read", self.made);
        (status == 0).then_some(stdout)
    }

    /// Returns the number of crashes checked.
    fn crashes(&self) -> Option<usize> {
        let disk = disk(ROOM)?;
        run(&disk, &words(self.write)).ok();
        let place = Scratch::in_memory();
        let changes = disk.kept().changes.clone();
        let whole = self.read(&place, disk.path(), "whole").expect("it was written");
        let mut last = HashMap::new();
        let points = each_crash(&changes, 1, |left, _, point| {
            let read = self.read(&place, left, &point.what);
            assert!(
                read.is_none() || read.as_ref() == Some(&whole),
                "{}, {}",
                self.name,
                point.what
            );
            let there = last.insert(point.left, read.is_some()) == Some(true);
            assert!(!there || read.is_some(), "{}, {}: it is gone", self.name, point.what);
        });
        assert!(last.values().all(|there| *there), "{} is not durable: {last:?}", self.name);
        Some(points)
    }

    /// Returns the number of disks that were too small.
    fn full_disks(&self) -> Option<usize> {
        let (enough, place) = (disk(ROOM)?, Scratch::in_memory());
        let given = enough.kept().tree.blocks();
        run(&enough, &words(self.write)).ok();
        let mut full = 0;
        for capacity in given..enough.kept().tree.blocks() {
            let disk = disk(capacity)?;
            let outcome = run(&disk, &words(self.write));
            let what = format!("{}, {capacity} blocks: {}", self.name, outcome.stderr);
            assert_eq!(outcome.status, 1, "{what}");
            assert!(outcome.stderr.contains("No space left on device"), "{what}");
            assert_eq!(self.read(&place, disk.path(), &what), None, "{what}");
            full += 1;
        }
        Some(full)
    }
}

#[test]
fn crash_leaves_a_document_whole_or_absent() {
    let points: Option<usize> = CASES.iter().map(DocumentCase::crashes).sum();
    let Some(points) = points else { return };
    println!("{points} crashes of documents were survived");
    assert!(points > 100);
}

#[test]
fn full_disk_leaves_no_partial_document() {
    let full: Option<usize> = CASES.iter().map(DocumentCase::full_disks).sum();
    let Some(full) = full else { return };
    println!("{full} full disks of documents were survived");
    assert!(full > 10);
}
