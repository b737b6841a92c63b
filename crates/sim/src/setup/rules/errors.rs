//! Bit errors of the flash, the code that corrects them, and the retries of reads.

use flashscope_block::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FAULT_SEED, PageFactors, Profile, ProfileError, require};
use crate::nand::{BitErrors, Code, Growth, PageTypes};
use crate::setup::{Transfer, quantity};

/// The activation energy of charge leakage, in electronvolts.
const ACTIVATION_ENERGY: f64 = 1.1;
/// Boltzmann's constant, in electronvolts per kelvin.
const BOLTZMANN: f64 = 8.617_333_262e-5;
const ZERO_CELSIUS: f64 = 273.15;
/// The temperature that `errors.retention` refers to, in degrees Celsius.
const REFERENCE: f64 = 40.0;

/// Bit errors. The raw bit error rate of a page is `rate` × the factor of its page type × (1 +
/// (erases / `wear`) ^ `wear_exponent` + (age / `retention`) ^ `retention_exponent` + reads /
/// `reads`). Erases are those of its block, the age is that of the data in its block, and reads are
/// those of the block since its erase. If a codeword of a page has too many errors, the drive reads
/// the page again with other reference voltages, up to `reliability.read_retries` times. If all
/// retries fail, a read of the host fails. From `reliability.refresh_retries` retries on, the drive
/// rewrites the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Errors {
    /// The raw bit error rate of a page that was just written to a new block (0 to 0.5); 0 for
    /// flash without bit errors. Default: 0. Source: none; the paper's drive has none.
    pub rate: f64,
    /// The factor of each page type, lower page first, as in `"1/2/1.5"`: as many as
    /// `cells.bits_per_cell`. If empty, each is 1. Default: empty. Source: none.
    pub page_type: PageFactors,
    /// The factor of pages in blocks used as SLC. Default: 0.1. Source: chosen; the levels of SLC
    /// cells are further apart.
    pub slc_factor: f64,
    /// The number of erases that add as much as `rate`; 0 for no effect of wear. Default: 1000.
    /// Source: chosen, in the order of the endurance of TLC.
    pub wear: u32,
    /// The exponent of wear (0.1 to 10). Default: 2. Source: chosen; errors grow faster than
    /// erases.
    pub wear_exponent: f64,
    /// The age at 40 °C that adds as much as `rate`; 0 for no effect of age. Default: 720 h.
    /// Source: chosen, a month.
    #[serde(deserialize_with = "quantity::time")]
    pub retention: Nanos,
    /// The exponent of age (0.1 to 10). Default: 0.5. Source: chosen; charge leaks fast at first.
    pub retention_exponent: f64,
    /// The temperature of the flash in °C (-40 to 125). Data ages faster at higher temperatures, by
    /// Arrhenius' law with an activation energy of 1.1 eV. Default: 40. Source: chosen.
    pub temperature: f64,
    /// The number of reads of a block that add as much as `rate`; 0 for no effect of reads.
    /// Default:
    /// 100000. Source: chosen.
    pub reads: u32,
    /// The data bytes of a codeword of the error-correcting code (1 B to 64 KiB). Bit errors occur
    /// in the data bits only, not in the parity bits. Default: 1 KiB. Source: chosen.
    #[serde(deserialize_with = "quantity::size")]
    pub codeword: Bytes,
    /// The bit errors that the code corrects in a codeword. Default: 72. Source: chosen, as a BCH
    /// code with 126 bytes of parity.
    pub correctable: u32,
    /// The factor of the raw bit error rate at each retry (0 to 1, both excluded), whose reference
    /// voltages fit better. Default: 0.7. Source: chosen.
    pub retry_gain: f64,
    /// The time to decode a page, at each attempt to read it; may be 0. Default: 0. Source: chosen,
    /// so that a read without errors takes the time of `flash.page_read`.
    #[serde(deserialize_with = "quantity::time")]
    pub decode_time: Nanos,
}

impl Default for Errors {
    fn default() -> Self {
        Errors {
            rate: 0.0,
            page_type: PageFactors::default(),
            slc_factor: 0.1,
            wear: 1000,
            wear_exponent: 2.0,
            retention: Nanos::secs(720 * 3600),
            retention_exponent: 0.5,
            temperature: REFERENCE,
            reads: 100_000,
            codeword: Bytes::kib(1),
            correctable: 72,
            retry_gain: 0.7,
            decode_time: Nanos(0),
        }
    }
}

impl Profile {
    /// Checks the section `errors`, and returns the bit errors of the flash.
    pub(super) fn bit_errors(&self) -> Result<BitErrors, ProfileError> {
        let errors = &self.errors;
        let rule = "it must be from 0 to 0.5";
        require((0.0..=0.5).contains(&errors.rate), "errors.rate", errors.rate, rule)?;
        if errors.rate > 0.0 {
            self.check_errors()?;
        }
        let mut factors = [1.0; PageTypes::MAX_BITS];
        let given = &errors.page_type.0;
        factors[..given.len().min(PageTypes::MAX_BITS)]
            .copy_from_slice(&given[..given.len().min(PageTypes::MAX_BITS)]);
        let bits = u32::try_from(errors.codeword.0.saturating_mul(8)).unwrap_or(u32::MAX);
        let codewords = self.flash.page_size.0.div_ceil(errors.codeword.0.max(1));
        #[allow(clippy::cast_precision_loss)] // the last nanoseconds of a long time do not matter
        let retention = errors.retention.0 as f64 / errors.acceleration();
        Ok(BitErrors {
            rate: errors.rate,
            types: self.cells.bits_per_cell,
            factors,
            slc_factor: errors.slc_factor,
            wear: Growth { scale: errors.wear.into(), exponent: errors.wear_exponent },
            retention: Growth { scale: retention, exponent: errors.retention_exponent },
            reads: Growth { scale: errors.reads.into(), exponent: 1.0 },
            code: Code::new(bits, errors.correctable, u32::try_from(codewords).unwrap_or(u32::MAX)),
            max_retries: self.reliability.read_retries,
            refresh_from: self.reliability.refresh_retries,
            gain: errors.retry_gain,
            decode: self.within_drive(errors.decode_time),
            seed: self.seed ^ FAULT_SEED,
        })
    }

    fn check_errors(&self) -> Result<(), ProfileError> {
        let errors = &self.errors;
        let disturb = self.reliability.read_disturb;
        let rule =
            "it must be 0 where errors.rate is above 0: errors.reads describes the effect of reads";
        require(disturb == 0.0, "reliability.read_disturb", disturb, rule)?;
        let rule = "it must be \"inter-plane\" where errors.rate is above 0: copies within a plane correct no errors";
        let copies = self.cleaning.transfer == Transfer::CopyBack;
        require(!copies, "cleaning.transfer", "copy-back", rule)?;
        let (types, bits) = (&errors.page_type, self.cells.bits_per_cell as usize);
        let rule = format!("it must have {bits} factors above 0, as many as cells.bits_per_cell");
        let fits = types.0.is_empty() || types.0.len() == bits;
        let positive = types.0.iter().all(|factor| *factor > 0.0 && *factor <= 1e6);
        require(fits && positive, "errors.page_type", types, rule)?;
        let rule = "it must be from 0 to 1000";
        require(
            (0.0..=1e3).contains(&errors.slc_factor),
            "errors.slc_factor",
            errors.slc_factor,
            rule,
        )?;
        let exponents = [
            ("errors.wear_exponent", errors.wear_exponent),
            ("errors.retention_exponent", errors.retention_exponent),
        ];
        for (field, exponent) in exponents {
            require(
                (0.1..=10.0).contains(&exponent),
                field,
                exponent,
                "it must be from 0.1 to 10",
            )?;
        }
        let (field, value) = ("errors.temperature", errors.temperature);
        require((-40.0..=125.0).contains(&value), field, value, "it must be from -40 to 125")?;
        let (field, value) = ("errors.codeword", errors.codeword.0);
        require((1..=1 << 16).contains(&value), field, value, "it must be from 1 byte to 64 KiB")?;
        let rule = format!("it must be below the {} bits of errors.codeword", 8 * value);
        let corrects = u64::from(errors.correctable) < 8 * value;
        require(corrects, "errors.correctable", errors.correctable, rule)?;
        let (gain, rule) = (errors.retry_gain, "it must be above 0 and below 1");
        require(gain > 0.0 && gain < 1.0, "errors.retry_gain", gain, rule)
    }
}

impl Errors {
    /// Returns the factor by which data ages faster than at 40 °C, by Arrhenius' law.
    fn acceleration(&self) -> f64 {
        let inverse = |celsius: f64| 1.0 / (celsius + ZERO_CELSIUS);
        (ACTIVATION_ENERGY / BOLTZMANN * (inverse(REFERENCE) - inverse(self.temperature))).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A month at 85 °C ages data as about 14 years at 40 °C, with 1.1 eV.
    #[test]
    fn heat_ages_data_by_arrhenius() {
        let at = |temperature| Errors { temperature, ..Errors::default() }.acceleration();
        assert_eq!(at(40.0).to_bits(), 1.0f64.to_bits());
        // exp(1.1 / 8.617e-5 * (1 / 313.15 - 1 / 358.15)), by hand: 12765 * 4.0124e-4 = 5.1219.
        assert!((at(85.0) / 167.65 - 1.0).abs() < 2e-3, "{}", at(85.0));
        assert!(at(0.0) < 0.01);
    }
}
