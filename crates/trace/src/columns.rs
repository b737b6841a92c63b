//! The columns of a trace in Parquet. The records of a result have the same column names, and
//! flashscope reads them as a trace directly.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

/// The issue time in nanoseconds.
pub(super) const SUBMITTED: &str = "submitted_ns";
/// The latency in nanoseconds.
pub(super) const LATENCY: &str = "latency_ns";
/// The offset of the first byte.
pub(super) const OFFSET: &str = "offset_bytes";
/// The length in bytes.
pub(super) const LENGTH: &str = "length_bytes";
/// The code of the operation.
pub(super) const OP: &str = "op";
/// The number of the volume.
pub(super) const VOLUME: &str = "volume";

/// The metadata key for the volume names: a JSON array, indexed by volume number.
pub(super) const VOLUMES_KEY: &str = "flashscope.volumes";

/// The number of rows in a row group.
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

/// Returns the encoding of each column: a dictionary for columns with few distinct values, deltas
/// for issue times, and byte stream split for latencies and offsets.
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
