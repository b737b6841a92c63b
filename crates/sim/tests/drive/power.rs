use super::life::{Life, Story};

/// The bytes of a random life.
pub(crate) fn script(seed: u64, len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

/// The lives of many drives.
fn lives(seeds: std::ops::Range<u64>, len: usize) -> Vec<Story> {
    let live = |seed| Some(Life::new(&script(seed, len))?.live());
    seeds.filter_map(live).collect()
}

// Whatever happens to a drive, is there no panic, no hang and no lost page?
#[test]
fn no_life_loses_a_page() {
    let stories = lives(0..1000, 3000);
    let cuts: usize = stories.iter().map(|story| story.recoveries.len()).sum();
    println!("{} lives, {cuts} cuts", stories.len());
}
