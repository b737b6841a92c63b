//! The command `flashscope demo`.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the report of the demo: in a folder that this process created"
    )
)]

use std::path::PathBuf;

use flashscope_command::bench::{Inside, SideChannels, create, manifest, measure, outcome};
use flashscope_document::manifest::{OnError, Options, State};
use flashscope_document::methodology::{Methodology, Precision};
use flashscope_measure::{MIN_RUN_PAUSE, plan};
use flashscope_report::{Summary, terminal};
use flashscope_result::write_text;
use flashscope_workload::uflip::{PerBaseline, Setup, all};

use crate::args::DemoArgs;
use crate::progress::LateBar;
use crate::report::{OpenedResult, page_of};
use crate::{Failure, print, stop, usage};

/// Runs the nine micro-benchmarks on a simulated drive and writes the report.
pub(crate) fn demo(args: &DemoArgs) -> Result<(), Failure> {
    let output = args.output.folder.clone().unwrap_or_else(unused_name);
    let mut device = flashscope_sim::open("demo").map_err(usage)?;
    let inside = Inside::of(&mut device);
    let info = flashscope_block::Device::info(&device);
    let setup = Setup::paper(info.capacity, 1);
    let options = Options {
        setup: Setup { io_count: PerBaseline::same(5120), ..setup },
        state: State::Random,
        spare: None,
        run_pause_ns: MIN_RUN_PAUSE,
        on_error: OnError::Continue,
        // One repeat of each run, so that the demo takes seconds.
        methodology: Methodology {
            precision: Some(Precision::default()),
            finds_io_ignore: true,
            finds_run_pause: true,
            ..Methodology::default()
        },
        rounds: None,
        grid: None,
    };
    let benchmarks: Vec<_> = all().collect();
    let plan = plan(&benchmarks, &options, info, false);
    let mut manifest = manifest(&device, plan, options)?;
    let stop = stop::flag()?;
    let folder = create(&output, &manifest)?;
    let mut bar = LateBar::at_once();
    let watching = SideChannels { inside, surroundings: None };
    let facts = measure(&mut device, &mut manifest, &folder, (stop, &mut bar), watching);
    bar.finish();
    let facts = facts?;
    let outcome = outcome(&folder, &manifest);
    let page = folder.path().join("report.html");
    let result = output.display().to_string();
    let summary = Summary { result, manifest: manifest.clone(), facts: facts.clone() };
    let mut bar = LateBar::new();
    let html = page_of(&[OpenedResult::measured(folder, manifest, facts)?], &mut bar)?;
    write_text(&page, &html)?;
    bar.finish();
    print::document(args.json, &summary, || {
        let (result, report) = (output.display(), page.display());
        let text = terminal(&summary.manifest, &summary.facts);
        format!("{text}\nresult: {result}\nreport: {report}\n")
    })?;
    outcome
}

fn unused_name() -> PathBuf {
    let names = std::iter::once("demo.flashscope".into())
        .chain((2..).map(|n| format!("demo-{n}.flashscope")));
    names.map(PathBuf::from).find(|path| !path.exists()).unwrap_or_default()
}
