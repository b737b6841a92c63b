use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Index, Range};

use flashscope_block::Record;
use flashscope_block::column::{COLUMN_COUNT, COLUMNS, ColumnKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The columns of successive records: in JSON, a list under the name of each column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordColumns([Vec<i64>; COLUMN_COUNT]);

impl RecordColumns {
    pub(super) fn push(&mut self, record: &Record) {
        self.push_values(&record.values());
    }

    pub(super) fn push_values(&mut self, values: &[i64]) {
        for (list, value) in self.0.iter_mut().zip(values) {
            list.push(*value);
        }
    }

    /// Returns these rows.
    pub(super) fn part(&self, rows: Range<usize>) -> RecordColumns {
        RecordColumns(std::array::from_fn(|column| self.0[column][rows.clone()].to_vec()))
    }
}

impl Index<usize> for RecordColumns {
    type Output = [i64];

    /// Returns the values of a column, by its index in [`COLUMNS`].
    fn index(&self, column: usize) -> &[i64] {
        &self.0[column]
    }
}

/// The values of a column.
struct List<'a>(ColumnKind, &'a [i64]);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ColumnKind::U64 => {
                serializer.collect_seq(self.1.iter().map(|value| value.cast_unsigned()))
            }
            _ => serializer.collect_seq(self.1),
        }
    }
}

impl Serialize for RecordColumns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COLUMN_COUNT))?;
        for (column, values) in COLUMNS.iter().zip(&self.0) {
            map.serialize_entry(column.name, &List(column.kind, values))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RecordColumns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordColumns, D::Error> {
        let mut lists = BTreeMap::<String, Vec<i64>>::deserialize(deserializer)?;
        let mut columns = RecordColumns::default();
        for (list, column) in columns.0.iter_mut().zip(COLUMNS) {
            *list =
                lists.remove(column.name).ok_or_else(|| D::Error::missing_field(column.name))?;
        }
        Ok(columns)
    }
}

impl JsonSchema for RecordColumns {
    fn schema_name() -> Cow<'static, str> {
        "RecordColumns".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// Returns the schema. The page builds its table of IOs from `title`, `x-column` and `x-unit`.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for (index, column) in COLUMNS.iter().enumerate() {
            let mut list = match column.kind {
                ColumnKind::U64 => generator.subschema_for::<Vec<u64>>(),
                ColumnKind::U16 => generator.subschema_for::<Vec<u16>>(),
                ColumnKind::U8 => generator.subschema_for::<Vec<u8>>(),
                ColumnKind::I32 => generator.subschema_for::<Vec<i32>>(),
            };
            list.insert("title".into(), column.title.into());
            list.insert("description".into(), column.summary.into());
            list.insert("x-column".into(), index.into());
            list.insert("x-unit".into(), column.unit.name().into());
            properties.insert(column.name.into(), list.into());
        }
        let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        schemars::json_schema!({ "type": "object", "properties": properties, "required": names })
    }
}
