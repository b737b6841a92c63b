//! Runs the targets without libFuzzer.
//!
//! `plain replay FOLDER...` replays corpora. `plain generate TARGET SECONDS [FIRST-SEED]` tries
//! generated inputs. It stores a failing input in `crash-TARGET-SEED`, which `cargo fuzz run TARGET
//! FILE` accepts; `plain seed TARGET SEED` repeats the input. `plain canary TARGET SECONDS
//! FIRST-SEED` tries generated inputs with a deliberate bug, which the target must find.
//!
//! `plain soak SECONDS FIRST-SEED` runs the same lives on every FTL with every policy. A life is a
//! random sequence of requests and faults on a simulated drive. `plain life PAIR SEED` repeats a
//! life on one pair of an FTL and policies.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use flashscope_block::canary;
use flashscope_fuzz::{TARGETS, Target, soak};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &arguments[..] {
        ["replay", folders @ ..] => folders.iter().for_each(|folder| replay(Path::new(folder))),
        ["generate", name, seconds] => generate(target(name), number(seconds), fastrand::u64(..)),
        ["generate", name, seconds, first] => {
            generate(target(name), number(seconds), number(first))
        }
        ["canary", name, seconds, first] => {
            canary::plant();
            generate(target(name), number(seconds), number(first));
        }
        ["seed", name, seed] => {
            let target = target(name);
            (target.run)(&(target.generate)(&mut fastrand::Rng::with_seed(number(seed))));
        }
        ["soak", seconds, first] => {
            match soak::soak(Duration::from_secs(number(seconds)), number(first)) {
                Ok(table) => println!("{table}"),
                Err(again) => {
                    eprintln!("{again}");
                    std::process::exit(1);
                }
            }
        }
        ["life", pair, seed] => soak::again(number(pair), number(seed)),
        ["targets"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        _ => usage(),
    }
}

fn usage() -> ! {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!(
        "usage: plain replay FOLDER... | generate TARGET SECONDS [FIRST-SEED] | canary TARGET SECONDS FIRST-SEED | seed TARGET SEED | \
         soak SECONDS FIRST-SEED | life PAIR SEED | targets\n\
         targets: {}",
        names.join(", ")
    );
    std::process::exit(2);
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| usage())
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| usage())
}

/// Runs every file of a corpus folder, which has the name of its target.
fn replay(folder: &Path) {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_else(|| usage());
    let target = target(name);
    let entries = std::fs::read_dir(folder).expect("the corpus exists");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for file in &files {
        let input = std::fs::read(file).expect("the file can be read");
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            eprintln!("{} fails", file.display());
            std::process::exit(1);
        }
    }
    println!("{name}: {} inputs of the corpus, none failed", files.len());
}

/// Tries generated inputs from seed `first` on, until the time is over or one fails.
fn generate(target: &Target, seconds: u64, first: u64) {
    let (name, end) = (target.name, Instant::now() + Duration::from_secs(seconds));
    let mut seed = first;
    while Instant::now() < end {
        let input = (target.generate)(&mut fastrand::Rng::with_seed(seed));
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            let file = format!("crash-{name}-{seed}");
            match std::fs::write(&file, &input) {
                Ok(()) => {
                    eprintln!("input {} failed; it is stored in {file}", seed.wrapping_sub(first))
                }
                Err(error) => eprintln!("{file} cannot be written: {error}"),
            }
            eprintln!("repeat it: plain seed {name} {seed}");
            std::process::exit(1);
        }
        seed = seed.wrapping_add(1);
    }
    println!("{name}: {} generated inputs, none failed", seed.wrapping_sub(first));
}
