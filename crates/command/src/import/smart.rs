//! The SMART log of nvme-cli: `nvme smart-log --output-format=json`.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use flashscope_block::Bytes;
use flashscope_document::environment::{CriticalWarning, DATA_UNIT, Health};
use serde_json::{Map, Value};

/// Reads a SMART log.
///
/// # Errors
/// If the file is not a SMART log of nvme-cli, or lacks a field.
pub(crate) fn read(path: &Path) -> Result<Health> {
    let place = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(place)?;
    let document: Value = serde_json::from_str(&text).with_context(|| {
        format!("{} is not the output of `nvme smart-log --output-format=json`", place())
    })?;
    let Value::Object(fields) = &document else {
        bail!("{} is not the output of `nvme smart-log --output-format=json`", place());
    };
    health(fields).with_context(|| format!("{}, as a SMART log of nvme-cli", place()))
}

fn health(fields: &Map<String, Value>) -> Result<Health> {
    let count = |name: &str| -> Result<u64> {
        let value = fields.get(name).ok_or_else(|| anyhow!("there is no `{name}`"))?;
        // nvme-cli writes counters of 16 bytes as numbers or as strings, depending on its version.
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| saturated(number.as_f64()?)),
            Value::String(text) => text.replace(',', "").parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| anyhow!("`{name}` is {value}, which is not a count"))
    };
    let small = |name: &str| anyhow::Ok(u32::try_from(count(name)?).unwrap_or(u32::MAX));
    let small_or_0 =
        |name: &str| if fields.contains_key(name) { small(name) } else { anyhow::Ok(0) };
    let units = |name: &str| anyhow::Ok(Bytes(count(name)?.saturating_mul(DATA_UNIT.0)));
    let warnings = match fields.get("critical_warning") {
        // Newer versions write each bit as a field, and the byte as `value`.
        Some(Value::Object(bits)) => bits.get("value").and_then(Value::as_u64),
        Some(value) => value.as_u64(),
        None => None,
    };
    let warnings = warnings.ok_or_else(|| anyhow!("there is no `critical_warning`"))?;
    let kelvin = count("temperature")?;
    #[allow(clippy::cast_precision_loss, reason = "temperatures are far below 2^53")]
    let celsius = (kelvin > 0).then_some(kelvin as f64 - 273.0);
    Ok(Health {
        critical_warnings: CriticalWarning::of_bits(u8::try_from(warnings).unwrap_or(u8::MAX)),
        temperature_celsius: celsius,
        available_spare_percent: small("avail_spare")?,
        available_spare_threshold_percent: small("spare_thresh")?,
        percentage_used: small("percent_used")?,
        host_bytes_read: units("data_units_read")?,
        host_bytes_written: units("data_units_written")?,
        host_read_commands: count("host_read_commands")?,
        host_write_commands: count("host_write_commands")?,
        busy_minutes: count("controller_busy_time")?,
        power_cycles: count("power_cycles")?,
        power_on_hours: count("power_on_hours")?,
        unsafe_shutdowns: count("unsafe_shutdowns")?,
        media_errors: count("media_errors")?,
        error_log_entries: count("num_err_log_entries")?,
        warning_temperature_minutes: small("warning_temp_time")?,
        critical_temperature_minutes: small("critical_comp_time")?,
        light_throttling_transitions: small_or_0("thm_temp1_trans_count")?,
        heavy_throttling_transitions: small_or_0("thm_temp2_trans_count")?,
        light_throttling_s: small_or_0("thm_temp1_total_time")?,
        heavy_throttling_s: small_or_0("thm_temp2_total_time")?,
        ocp: None,
    })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn saturated(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}
