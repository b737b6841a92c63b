//! `flashscope demo`.

use std::io::Write;
use std::path::PathBuf;

use flashscope_analysis::outlines;
use flashscope_block::Nanos;
use flashscope_measure::plan;
use flashscope_report::{Report, terminal};
use flashscope_result::manifest::{OnError, Options, State};
use flashscope_workload::uflip::{PerBaseline, Setup, all};

use crate::args::DemoArgs;
use crate::bench::{create, manifest, measure, outcome};
use crate::report::write_page;
use crate::{Failure, stop, usage};

/// The writes that the demo drive takes before it has to clean: what background cleaning frees
/// in a pause (5 % of its pages, as 32 KiB), rounded up.
const START_UP: u64 = 2560;

/// The nine micro-benchmarks on a simulated drive: everything but the drive is real.
pub fn demo(args: &DemoArgs) -> Result<(), Failure> {
    let output = args.output.clone().unwrap_or_else(unused_name);
    let mut device = flashscope_sim::open("demo").map_err(usage)?;
    let info = flashscope_block::Device::info(&device);
    // As section 5.1 of the paper does for drives with a start-up phase: runs of writes are long
    // enough to show the running phase, and the start-up phase is left out of the statistics.
    let reads = PerBaseline::same(1024);
    let io_count = PerBaseline { sequential_write: 5120, random_write: 5120, ..reads };
    let none = PerBaseline::same(0);
    let io_ignore = PerBaseline { sequential_write: START_UP, random_write: START_UP, ..none };
    let setup = Setup { io_count, io_ignore, ..Setup::paper(info.capacity, 1) };
    let options = Options {
        setup,
        state: State::Random,
        run_pause_ns: Nanos::secs(5),
        on_error: OnError::Continue,
    };
    let benchmarks: Vec<_> = all().collect();
    let plan = plan(&benchmarks, &options.setup, info, false);
    let mut manifest = manifest(&device, plan, options)?;
    let stop = stop::flag()?;
    let folder = create(&output, &manifest)?;
    let facts = measure(&mut device, &mut manifest, &folder, stop, None)?;
    let outlines = outlines(&folder, &manifest)?;
    let text = terminal(&manifest, &facts);
    let outcome = outcome(&manifest);
    let page = write_page(&Report { manifest, facts, outlines }, &folder, None)?;
    let mut out = std::io::stdout().lock();
    write!(out, "{text}")?;
    writeln!(out, "\nresult: {}", folder.path().display())?;
    writeln!(out, "report: {}", page.display())?;
    outcome
}

fn unused_name() -> PathBuf {
    let names = std::iter::once("demo.flashscope".into())
        .chain((2..).map(|n| format!("demo-{n}.flashscope")));
    names.map(PathBuf::from).find(|path| !path.exists()).unwrap_or_default()
}
