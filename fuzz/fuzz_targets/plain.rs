//! The targets without libFuzzer: `plain replay FOLDER...` runs what is kept, each folder's files on the target
//! of its name; `plain draw TARGET SECONDS [FIRST-SEED]` inputs that are drawn. A failing input is left in
//! `crash-TARGET-SEED`, which `cargo fuzz run TARGET FILE` takes, too; `plain seed TARGET SEED` repeats it.
//! `plain soak SECONDS FIRST-SEED` lives the same lives on every FTL with every policy, and `plain life PAIR SEED`
//! one of them again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use flashscope_fuzz::{TARGETS, Target, soak};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &arguments[..] {
        ["replay", folders @ ..] => folders.iter().for_each(|folder| replay(Path::new(folder))),
        ["draw", name, seconds] => draw(target(name), number(seconds), fastrand::u64(..)),
        ["draw", name, seconds, first] => draw(target(name), number(seconds), number(first)),
        ["seed", name, seed] => {
            let target = target(name);
            (target.run)(&(target.draw)(&mut fastrand::Rng::with_seed(number(seed))));
        }
        ["soak", seconds, first] => {
            match soak::soak(Duration::from_secs(number(seconds)), number(first)) {
                Ok(told) => println!("{told}"),
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
        "usage: plain replay FOLDER... | draw TARGET SECONDS [FIRST-SEED] | seed TARGET SEED | \
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

/// Runs every file of a folder that is named like a target.
fn replay(folder: &Path) {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_else(|| usage());
    let target = target(name);
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for file in &files {
        let input = std::fs::read(file).expect("it can be read");
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            eprintln!("{} is not held", file.display());
            std::process::exit(1);
        }
    }
    println!("{name}: {} inputs of the corpus", files.len());
}

/// Tries inputs of seeds from `first` on, until the time is over or one fails.
fn draw(target: &Target, seconds: u64, first: u64) {
    let (name, end) = (target.name, Instant::now() + Duration::from_secs(seconds));
    let mut seed = first;
    while Instant::now() < end {
        let input = (target.draw)(&mut fastrand::Rng::with_seed(seed));
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            let file = format!("crash-{name}-{seed}");
            match std::fs::write(&file, &input) {
                Ok(()) => eprintln!("input {} failed; it is in {file}", seed.wrapping_sub(first)),
                Err(error) => eprintln!("{file} cannot be written: {error}"),
            }
            eprintln!("repeat it: plain seed {name} {seed}");
            std::process::exit(1);
        }
        seed = seed.wrapping_add(1);
    }
    println!("{name}: {} inputs drawn, none failed", seed.wrapping_sub(first));
}
