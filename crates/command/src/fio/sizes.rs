//! The sizes of IOs: `bs`, `bsrange` and `bssplit`.

use anyhow::{Result, bail};
use flashscope_block::Bytes;
use flashscope_workload::job::SizeShare;

use super::notation::bytes;

/// fio's default size.
const DEFAULT: Bytes = Bytes(4096);

/// The maximum number of sizes in a range.
const MAX_SIZES: u64 = 4096;

/// The sizes of reads, writes and trims.
pub(super) type PerOperation = [Vec<SizeShare>; 3];

/// Returns the sizes without any option.
pub(super) fn default() -> PerOperation {
    std::array::from_fn(|_| one(DEFAULT))
}

fn one(size: Bytes) -> Vec<SizeShare> {
    vec![SizeShare { size, weight: 1 }]
}

/// Parses the values of reads, writes and trims, which commas separate. Operations without a value
/// have the last value; an empty value means the default.
fn each(text: &str, parse: impl Fn(&str) -> Result<Vec<SizeShare>>) -> Result<PerOperation> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        bail!("too many values: give at most three, for reads, writes and trims");
    }
    let mut sizes = default();
    for (nth, sizes) in sizes.iter_mut().enumerate() {
        let part = parts.get(nth).or(parts.last()).copied().unwrap_or_default();
        if !part.is_empty() {
            *sizes = parse(part)?;
        }
    }
    Ok(sizes)
}

fn positive(text: &str) -> Result<Bytes> {
    match bytes(text).filter(|size| size.0 > 0) {
        Some(size) => Ok(size),
        None => bail!("`{text}` is not a size, such as 4k"),
    }
}

/// Parses `bs=4k` or `bs=4k,64k`.
pub(super) fn fixed(text: &str) -> Result<PerOperation> {
    each(text, |part| Ok(one(positive(part)?)))
}

/// Parses `bsrange=4k-16k`: multiples of the smallest size, all equally frequent.
pub(super) fn range(text: &str) -> Result<PerOperation> {
    each(text, |part| {
        let Some((least, most)) = part.split_once('-') else {
            bail!("`{part}` is not a range, such as 4k-16k");
        };
        let (least, most) = (positive(least)?, positive(most)?);
        if least > most || !most.0.is_multiple_of(least.0) || most.0 / least.0 > MAX_SIZES {
            bail!(
                "`{part}`: the end must be a multiple of the start, at most {MAX_SIZES} times as large"
            );
        }
        Ok((1..=most.0 / least.0)
            .map(|nth| SizeShare { size: Bytes(nth * least.0), weight: 1 })
            .collect())
    })
}

/// Parses `bssplit=4k/60:64k/40`: sizes with their percentages. Sizes without a percentage share
/// the remainder equally.
pub(super) fn split(text: &str) -> Result<PerOperation> {
    each(text, |part| {
        let mut sizes: Vec<(Bytes, Option<u32>)> = Vec::new();
        for entry in part.split(':') {
            let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
            let percent = match percent {
                "" => None,
                number => match number.parse::<u32>() {
                    Ok(percent) if percent <= 100 => Some(percent),
                    _ => bail!("`{entry}`: the percentage must be a whole number up to 100"),
                },
            };
            sizes.push((positive(size)?, percent));
        }
        let given: u32 = sizes.iter().filter_map(|(_, percent)| *percent).sum();
        let open = u32::try_from(sizes.iter().filter(|(_, percent)| percent.is_none()).count())?;
        let Some(left) = 100_u32.checked_sub(given).filter(|left| open > 0 || *left == 0) else {
            bail!("the percentages in `{part}` add up to {given}, not to 100");
        };
        // Weights are in units of 1/scale percent, which makes equal parts of the remainder
        // integers.
        let scale = open.max(1);
        let weight = |percent: Option<u32>| percent.map_or(left, |percent| percent * scale);
        let shares =
            sizes.into_iter().map(|(size, percent)| SizeShare { size, weight: weight(percent) });
        Ok(shares.filter(|share| share.weight > 0).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(sizes: &[SizeShare]) -> Vec<(u64, u32)> {
        sizes.iter().map(|share| (share.size.0, share.weight)).collect()
    }

    #[test]
    fn operations_have_their_own_sizes() {
        let sizes = |text| fixed(text).unwrap().map(|sizes| sizes[0].size.0 / 1024);
        assert_eq!(sizes("8k"), [8, 8, 8]);
        assert_eq!(sizes("8k,32k"), [8, 32, 32]);
        assert_eq!(sizes("8k,"), [8, 4, 4]);
        assert_eq!(sizes(",8k"), [4, 8, 8]);
        assert_eq!(sizes("1k,2k,8k"), [1, 2, 8]);
    }

    #[test]
    fn splits_and_ranges_have_shares() {
        let [reads, writes, _] = split("4k/50:64k/10:32k/40,8k").unwrap();
        assert_eq!(shares(&reads), [(4096, 50), (65_536, 10), (32_768, 40)]);
        assert_eq!(shares(&writes), [(8192, 100)]);
        let [reads, ..] = split("4k/50:1k/:32k/").unwrap();
        assert_eq!(shares(&reads), [(4096, 100), (1024, 50), (32_768, 50)]);
        let [reads, ..] = split("4k/100:64k/0").unwrap();
        assert_eq!(shares(&reads), [(4096, 100)]);
        let [reads, ..] = range("4k-16k").unwrap();
        assert_eq!(shares(&reads), [(4096, 1), (8192, 1), (12_288, 1), (16_384, 1)]);
    }

    #[test]
    fn wrong_sizes_are_refused() {
        for (parsed, message) in [
            (fixed("0"), "`0` is not a size"),
            (fixed("1k,2k,3k,4k"), "at most three"),
            (split("4k/50:8k/40"), "add up to 90"),
            (split("4k/50:8k/60"), "add up to 110"),
            (split("4k/most"), "a whole number up to 100"),
            (range("4k"), "is not a range"),
            (range("4k-10k"), "a multiple of the start"),
        ] {
            let error = parsed.unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
