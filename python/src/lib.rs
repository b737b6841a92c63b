//! The extension module `flashscope._native`: what Python cannot do itself. What users see is the package in
//! `python/flashscope`.

mod asked;
mod columns;
mod commands;
mod error;
mod table;
mod traces;
mod watched;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::commands::{
        bench, info, ios, kinds, open, options, predict, probe, records, simulate,
    };
    #[pymodule_export]
    use super::error::{Error, Failed, UsageError};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::traces::{requests, trace_facts};
}
