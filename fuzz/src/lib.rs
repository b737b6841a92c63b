//! The fuzz targets: properties that must hold for every input. libFuzzer and the plain runner both
//! get the targets from [`TARGETS`].

mod edit;
mod hardware;
mod result;
mod served;
pub mod soak;
mod submission;
mod text;

#[path = "../../crates/trace/tests/trace/formats/exhaust.rs"]
mod exhaust;
#[path = "../../crates/sim/tests/drive/life/mod.rs"]
#[allow(dead_code)] // only the tests compare these fields
mod life;
#[path = "../../crates/attach/tests/nbd/talk.rs"]
#[allow(dead_code)] // only the tests use these functions
mod talk;
#[path = "../../crates/attach/tests/nvme/talk.rs"]
#[allow(dead_code)] // only the tests use these functions
mod talk_nvme;

use std::path::{Path, PathBuf};

use edit::changed;

/// A fuzz target: a property that must hold for every input.
pub struct Target {
    /// The name on the command line, and of the corpus.
    pub name: &'static str,
    /// Checks the property for an input, and panics if it does not hold.
    pub run: fn(&[u8]),
    /// Generates an input that is nearly valid, because parsers refuse most random bytes at once.
    pub generate: fn(&mut fastrand::Rng) -> Vec<u8>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "drive", run: lives, generate: any_life },
    Target {
        name: "trace",
        run: |bytes| {
            exhaust::read_every_way(bytes);
        },
        generate: |random| changed(&samples("testdata/traces"), random),
    },
    Target {
        name: "nbd",
        run: |bytes| {
            talk::talk(bytes);
        },
        generate: |random| talk::conversation(&mut |most| random.usize(..most)),
    },
    Target {
        name: "nvme",
        run: |bytes| {
            talk_nvme::talk(bytes);
        },
        generate: |random| talk_nvme::conversation(&mut |most| random.usize(..most)),
    },
    Target { name: "text", run: text::run, generate: text::generate },
    Target { name: "result", run: result::run, generate: any_bytes },
    Target { name: "hardware", run: hardware::run, generate: hardware::generate },
    Target { name: "submission", run: submission::run, generate: any_bytes },
    Target { name: "served", run: served::run, generate: served::generate },
];

/// Runs the target `name` on an input.
///
/// # Panics
/// Panics if there is no such target, or its property does not hold.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of the table").run)(input);
}

/// Compares a simulated drive with a map of the data written to it.
fn lives(bytes: &[u8]) {
    if let Some(life) = life::Life::new(bytes) {
        life.live();
    }
}

fn any_life(random: &mut fastrand::Rng) -> Vec<u8> {
    bytes(random, 64..6000)
}

/// Generates a script of changes; any bytes are a valid script.
fn any_bytes(random: &mut fastrand::Rng) -> Vec<u8> {
    bytes(random, 4..32)
}

fn bytes(random: &mut fastrand::Rng, lengths: std::ops::Range<usize>) -> Vec<u8> {
    let mut bytes = vec![0; random.usize(lengths)];
    random.fill(&mut bytes);
    bytes
}

/// Returns a path in the repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Reads the files of a folder of the repository, sorted by content.
fn samples(folder: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(repository(folder)).expect("the samples exist");
    let mut samples: Vec<_> =
        entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
    samples.sort();
    samples
}
