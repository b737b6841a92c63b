//! The command `flashscope trace`.

mod collection;
mod convert;
mod formats;
mod input;
mod output;
#[cfg(target_os = "linux")]
mod record;
mod stat;

use clap::Subcommand;
use convert::ConvertArgs;
use flashscope_command::trace::collection::CollectionArgs;
use formats::FormatsArgs;
#[cfg(target_os = "linux")]
use record::RecordArgs;
use stat::StatArgs;

use crate::Failure;

/// Analyse, convert and record IO traces.
#[derive(clap::Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Stat(StatArgs),
    Collection(CollectionArgs),
    Convert(ConvertArgs),
    #[cfg(target_os = "linux")]
    Record(RecordArgs),
    Formats(FormatsArgs),
}

pub(crate) fn trace(args: &TraceArgs) -> Result<(), Failure> {
    match &args.command {
        Command::Stat(args) => stat::stat(args),
        Command::Collection(args) => collection::collection(args),
        Command::Convert(args) => convert::convert(args),
        #[cfg(target_os = "linux")]
        Command::Record(args) => record::record(args),
        Command::Formats(args) => formats::formats(args),
    }
}
