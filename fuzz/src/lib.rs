//! What must hold whatever the input is, once for each family of inputs. libFuzzer and the plain runner both
//! know the targets by this table alone.

mod edit;
mod hardware;
mod result;
mod served;
pub mod soak;
mod submission;
mod text;

#[path = "../../crates/trace/tests/traces/exhaust.rs"]
mod exhaust;
#[path = "../../crates/sim/tests/drive/life/mod.rs"]
#[allow(dead_code)] // what only the tests compare
mod life;
#[path = "../../crates/attach/tests/nbd/talk.rs"]
#[allow(dead_code)] // what only the tests look at
mod talk;

use std::path::{Path, PathBuf};

use edit::changed;

/// A family of inputs.
pub struct Target {
    /// Its name on the command line, and that of its corpus.
    pub name: &'static str,
    /// Panics if something does not hold for this input.
    pub run: fn(&[u8]),
    /// An input that is nearly right: most random bytes are refused at once.
    pub draw: fn(&mut fastrand::Rng) -> Vec<u8>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "drive", run: lives, draw: any_life },
    Target {
        name: "trace",
        run: |bytes| {
            exhaust::read_every_way(bytes);
        },
        draw: |random| changed(&samples("testdata/traces"), random),
    },
    Target {
        name: "nbd",
        run: |bytes| {
            talk::talk(bytes);
        },
        draw: |random| talk::conversation(&mut |most| random.usize(..most)),
    },
    Target { name: "text", run: text::run, draw: text::draw },
    Target { name: "result", run: result::run, draw: any_bytes },
    Target { name: "hardware", run: hardware::run, draw: hardware::draw },
    Target { name: "submission", run: submission::run, draw: any_bytes },
    Target { name: "served", run: served::run, draw: served::draw },
];

/// Runs the target `name` on an input.
///
/// # Panics
/// There is no such target, or something does not hold.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of the table").run)(input);
}

/// A drive against a map of what was written to it.
fn lives(bytes: &[u8]) {
    if let Some(life) = life::Life::new(bytes) {
        life.live();
    }
}

fn any_life(random: &mut fastrand::Rng) -> Vec<u8> {
    bytes(random, 64..6000)
}

/// For the targets whose inputs are scripts of changes: any is a right one.
fn any_bytes(random: &mut fastrand::Rng) -> Vec<u8> {
    bytes(random, 4..32)
}

fn bytes(random: &mut fastrand::Rng, lengths: std::ops::Range<usize>) -> Vec<u8> {
    let mut bytes = vec![0; random.usize(lengths)];
    random.fill(&mut bytes);
    bytes
}

/// A path in the repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The files of a folder of the repository, in a fixed order.
fn samples(folder: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(repository(folder)).expect("the samples are there");
    let mut samples: Vec<_> =
        entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
    samples.sort();
    samples
}
