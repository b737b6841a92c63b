//! The extension module `flashscope._native`, which calls the commands. The package in
//! `python/flashscope` is the public interface.

mod collections;
mod columns;
mod commands;
mod error;
mod options;
mod results;
mod sweeps;
mod table;
mod traces;
mod twins;
mod verify;
mod watched;
mod what_ifs;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::collections::{collection, predict_collection};
    #[pymodule_export]
    use super::commands::{
        bench, info, ios, kinds, open, options, predict, probe, records, simulate,
    };
    #[pymodule_export]
    use super::error::{Error, Failed, UsageError};
    #[pymodule_export]
    use super::results::{compare, import_, query};
    #[pymodule_export]
    use super::sweeps::{points, run_trial, sweep, sweep_outcome};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::traces::{requests, trace_facts};
    #[pymodule_export]
    use super::twins::{twin, twin_check, twin_fit, twin_predict};
    #[pymodule_export]
    use super::verify::verify;
    #[pymodule_export]
    use super::what_ifs::what_if;

    /// Initializes the module. The panic hook affects no other extension module, because each links
    /// its own standard library.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::prelude::*;

        flashscope_command::panics::hide_caught();
        module.add("version", env!("CARGO_PKG_VERSION"))
    }
}
