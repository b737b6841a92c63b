//! Tests results after `kill -9`, power losses and full disks. The program runs on a test disk that
//! logs all changes. Each prefix of that log is a state that a crash could have left.

mod disk;
mod documents;
mod early_kills;
mod registry;
mod results;
mod sweeps;
mod tree;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use disk::Disk;
use tree::{Change, Durability, Tree};

use crate::{Outcome, Scratch};

/// More blocks than any test needs: 256 MiB.
const ROOM: usize = 1 << 16;

/// Runs the program on a disk.
fn run(disk: &Disk, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashscope"));
    Outcome::of(command.args(arguments).current_dir(disk.path()).stdin(Stdio::null()))
}

/// The state that a crash leaves.
struct Point {
    /// The number of changes made, the last of them perhaps in part.
    changes: usize,
    left: Durability,
    /// A description of the crash.
    what: String,
}

/// Checks the states that crashes can leave: `kill -9` after each change and within each write, and
/// power losses after one of `every` changes. Returns the number of states.
fn each_crash(
    changes: &[Change],
    every: usize,
    mut look: impl FnMut(&Path, &Tree, &Point),
) -> usize {
    let (place, mut tree, mut points) = (Scratch::in_memory(), Tree::new(), 0);
    let mut random = fastrand::Rng::with_seed(changes.len() as u64);
    let mut leave = |tree: &Tree, changes: usize, left: Durability, what: String| {
        let at = place.at("left");
        tree.write(&at, left);
        look(&at, tree, &Point { changes, left, what });
        std::fs::remove_dir_all(at).unwrap();
        points += 1;
    };
    for (index, change) in changes.iter().enumerate() {
        if let Change::Write { file, offset, data } = change
            && data.len() > 1
        {
            let cut = random.usize(1..data.len());
            tree.apply(&Change::Write { file: *file, offset: *offset, data: data[..cut].to_vec() });
            leave(&tree, index + 1, Durability::All, format!("within change {index}"));
        }
        tree.apply(change);
        leave(
            &tree,
            index + 1,
            Durability::All,
            format!("killed after change {index}, {}", brief(change)),
        );
        if index % every == 0 {
            for left in [Durability::SyncedData, Durability::SyncedNames] {
                let what =
                    format!("without power after change {index}, {}, {left:?}", brief(change));
                leave(&tree, index + 1, left, what);
            }
        }
    }
    points
}

/// Checks the states that crashes leave of a folder, which a command wrote on `disk`. `check`
/// compares each state with the complete folder, and returns how much of the folder exists.
/// `command` resumes one of `every` states, and must complete it. `losses` is the parameter `every`
/// of [`each_crash`]. Returns the number of states and the number of resumed states.
fn resumed_after_each_crash<C: PartialEq>(
    disk: &Disk,
    [command, folder]: [&str; 2],
    [losses, every]: [usize; 2],
    content: fn(&Scratch, &str) -> C,
    mut check: impl FnMut(&Path, &Path, &str) -> Option<usize>,
) -> [usize; 2] {
    let changes = disk.kept().changes.clone();
    let place = Scratch::in_memory();
    let whole = made(&disk.kept().tree, Durability::All, &place, folder, "whole");
    let sound = content(&place, "whole");
    let (mut kept, mut resumed, mut seen) = (HashMap::new(), 0, 0);
    let points = each_crash(&changes, losses, |left, tree, point| {
        let now = check(&left.join(folder), &whole, &point.what);
        let is_there = left.join(folder).symlink_metadata().is_ok();
        assert_eq!(is_there, now.is_some(), "{}: a folder that cannot be resumed", point.what);
        // A result that has appeared must survive every later crash of each kind.
        let before = kept.insert(point.left, now).flatten();
        assert!(now >= before, "{}: {now:?} after {before:?}", point.what);
        seen += 1;
        if now.is_some() && seen % every == 0 {
            made(tree, point.left, &place, folder, "cut");
            let outcome = place.run(&[command, "--resume", "cut"]);
            assert_eq!(outcome.status, 0, "{}: {}", point.what, outcome.stderr);
            assert!(content(&place, "cut") == sound, "{}: resumed, it differs", point.what);
            std::fs::remove_dir_all(place.at("cut")).unwrap();
            resumed += 1;
        }
    });
    [points, resumed]
}

/// Describes a change without its data.
fn brief(change: &Change) -> String {
    match change {
        Change::Write { file, data, .. } => format!("{} bytes to {file}", data.len()),
        change => format!("{change:?}"),
    }
}

/// Writes a folder of a tree into `place` as `name`, for a program to resume.
fn made(tree: &Tree, left: Durability, place: &Scratch, folder: &str, name: &str) -> PathBuf {
    let all = place.at("all");
    tree.write(&all, left);
    let path = place.at(name);
    std::fs::rename(all.join(folder), &path).unwrap();
    std::fs::remove_dir_all(all).unwrap();
    path
}
