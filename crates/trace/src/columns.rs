//! The columns of a trace in Parquet. Their names are those of the records of a result, so that
//! these are traces as they stand.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

/// When a request was issued.
pub(super) const SUBMITTED: &str = "submitted_ns";
/// How long its answer took.
pub(super) const LATENCY: &str = "latency_ns";
/// The first byte addressed.
pub(super) const OFFSET: &str = "offset_bytes";
/// How many bytes are addressed.
pub(super) const LENGTH: &str = "length_bytes";
/// The code of the operation.
pub(super) const OP: &str = "op";
/// The number of the volume.
pub(super) const VOLUME: &str = "volume";

/// The key of the names of the volumes in the metadata of a file: a JSON array, by number.
pub(super) const VOLUMES_KEY: &str = "flashscope.volumes";

/// Rows in a row group.
pub(super) const ROW_GROUP_ROWS: usize = 1 << 17;

const SCHEMA: &str = "message request {
    required int64 submitted_ns;
    optional int64 latency_ns;
    required int64 offset_bytes;
    required int64 length_bytes;
    required int32 op (INTEGER(8, false));
    required int32 volume (INTEGER(32, false));
}";

pub(super) fn schema() -> TypePtr {
    Arc::new(parse_message_type(SCHEMA).expect("the schema is well formed"))
}

/// How each column is stored: what has few values by dictionary, times by their differences,
/// addresses byte by byte.
pub(super) fn properties() -> WriterProperties {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a level of zstd"));
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_dictionary_enabled(true);
    for (column, encoding) in [
        (SUBMITTED, Encoding::DELTA_BINARY_PACKED),
        (LATENCY, Encoding::BYTE_STREAM_SPLIT),
        (OFFSET, Encoding::BYTE_STREAM_SPLIT),
    ] {
        properties = properties
            .set_column_dictionary_enabled(column.into(), false)
            .set_column_encoding(column.into(), encoding)
            .set_column_compression(column.into(), zstd);
    }
    properties.build()
}
