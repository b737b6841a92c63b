//! The same as `drive`, on random inputs, where cargo-fuzz is not installed: `plain SECONDS`. A
//! failing input is left in `crash-SEED`, which `cargo fuzz run drive` takes, too.

#[path = "../../crates/sim/tests/drive/life/mod.rs"]
#[allow(dead_code)] // what only the tests compare
mod life;

use std::time::{Duration, Instant};

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(seconds) = seconds else {
        eprintln!("usage: plain SECONDS");
        std::process::exit(2);
    };
    let (started, mut lives, mut cuts) = (Instant::now(), 0u64, 0);
    let mut seeds = fastrand::Rng::new();
    while started.elapsed() < Duration::from_secs(seconds) {
        let seed = seeds.u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = vec![0; random.usize(64..6000)];
        random.fill(&mut bytes);
        let lived = std::panic::catch_unwind(|| life::Life::new(&bytes).map(life::Life::live));
        let Ok(story) = lived else {
            let file = format!("crash-{seed:016x}");
            match std::fs::write(&file, &bytes) {
                Ok(()) => eprintln!("the input is in {file}"),
                Err(error) => eprintln!("{file} cannot be written: {error}"),
            }
            std::process::exit(1);
        };
        if let Some(story) = story {
            lives += 1;
            cuts += story.recoveries.len();
        }
    }
    println!("{lives} lives with {cuts} power cuts, none lost a page");
}
