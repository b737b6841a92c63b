//! `flashscope trace`.

mod convert;
mod formats;
mod input;
mod record;
mod stat;

use clap::Subcommand;
use convert::ConvertArgs;
pub use flashscope_instrument::trace::failure;
use formats::FormatsArgs;
use record::RecordArgs;
use stat::StatArgs;

use crate::Failure;

/// Understand, convert and record traces of IO in the formats that people have.
#[derive(clap::Args)]
pub struct TraceArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Stat(StatArgs),
    Convert(ConvertArgs),
    Record(RecordArgs),
    Formats(FormatsArgs),
}

pub fn trace(args: &TraceArgs) -> Result<(), Failure> {
    match &args.command {
        Command::Stat(args) => stat::stat(args),
        Command::Convert(args) => convert::convert(args),
        Command::Record(args) => record::record(args),
        Command::Formats(args) => formats::formats(args),
    }
}
