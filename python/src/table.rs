//! Tables in memory, which any library with Arrow support reads without a copy.

use std::ffi::CStr;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::error::{Failed, UsageError};

/// The names of capsules in the Arrow PyCapsule interface.
const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table in memory, stored by columns.
#[pyclass(frozen, module = "flashscope")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Creates a table of batches that all have `schema`.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Table {
        Table { schema, batches }
    }
}

#[pymethods]
impl Table {
    /// Implements the Arrow PyCapsule interface; every stream shares the memory of the table.
    /// Ignores a requested schema, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| Failed::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the values of a column as Python objects.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let values = PyList::empty(py);
        for batch in &self.batches {
            let column = batch.column_by_name(name).ok_or_else(|| {
                let there = self.columns().join(", ");
                UsageError::new_err(format!("there is no column `{name}`; choose one of: {there}"))
            })?;
            append(&values, column)?;
        }
        Ok(values)
    }

    /// The memory of the table in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    fn __repr__(&self) -> String {
        format!("<Table: {} rows of {}>", self.__len__(), self.columns().join(", "))
    }
}

/// Appends the values of a column; tables use only these types.
fn append(values: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    if let Some(names) = column.as_dictionary_opt::<UInt32Type>() {
        let names = names.downcast_dict::<StringArray>().ok_or_else(unknown)?;
        return names.into_iter().try_for_each(|name| values.append(name));
    }
    match column.data_type() {
        DataType::UInt8 => {
            column.as_primitive::<UInt8Type>().iter().try_for_each(|one| values.append(one))
        }
        DataType::UInt16 => {
            column.as_primitive::<UInt16Type>().iter().try_for_each(|one| values.append(one))
        }
        DataType::Utf8 => column.as_string::<i32>().iter().try_for_each(|one| values.append(one)),
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().try_for_each(|one| values.append(one))
        }
        DataType::UInt32 => {
            column.as_primitive::<UInt32Type>().iter().try_for_each(|one| values.append(one))
        }
        DataType::Int32 => {
            column.as_primitive::<Int32Type>().iter().try_for_each(|one| values.append(one))
        }
        DataType::UInt64 => {
            column.as_primitive::<UInt64Type>().iter().try_for_each(|one| values.append(one))
        }
        _ => Err(unknown()),
    }
}

fn unknown() -> PyErr {
    Failed::new_err("only Arrow libraries can read a column of this type")
}
