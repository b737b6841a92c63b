//! Tests `bench --grid`: the points of the grid, and their agreement with theory.

use flashscope_block::Bytes;
use flashscope_document::grid::{Grid, GridPoint};
use flashscope_document::manifest::{Progress, State, Status};
use flashscope_document::methodology::EndedBy;
use flashscope_model::{Uniform, bast};
use flashscope_workload::pattern::Reference;
use insta::assert_snapshot;

use crate::resume::content;
use crate::{OpenedResult, Scratch, files_of_records};

/// The drive of Boboila and Desnoyers, an eighth as large: 119 MiB for the host, 128 MiB of flash.
const DRIVE: &str = "sim:flashsim-2009?flash.blocks_per_plane=1024&log.blocks=69";

/// The number of log blocks of [`DRIVE`].
const LOG_BLOCKS: f64 = 69.0;

/// Options for a grid of three lengths and three free spaces, in pages of the drive.
const ASKED: [&str; 7] =
    ["--grid", "--grid-lengths", "1,8,64", "--grid-spaces", "0.2,1,0.5", "--grid-page", "2KiB"];

fn measured(place: &Scratch, name: &str, more: &[&str]) -> (OpenedResult, Grid, String) {
    let output = place.run(&[&["bench", DRIVE, "--output", name][..], more].concat()).ok().stdout;
    let result = place.result(name);
    result.assert_readable();
    let grid = result.folder.grid().unwrap().expect("a grid");
    (result, grid, output)
}

fn at(grid: &Grid, mean_len: u32, about: f64) -> GridPoint {
    let near = |point: &&GridPoint| {
        point.mean_len == mean_len && (point.free_space / about - 1.0).abs() < 0.01
    };
    *grid.points.iter().find(near).unwrap_or_else(|| panic!("no {mean_len} at {about}"))
}

/// Returns the erased blocks per written page by equation 7 of the paper, which counts all free
/// blocks as log blocks.
fn by_theory(grid: &Grid, point: &GridPoint) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let blocks = point.target.0 as f64 / grid.block.unwrap().0 as f64;
    let (free_space, mean_len) = (LOG_BLOCKS / blocks, f64::from(point.mean_len));
    let uniform = Uniform::new(64.0, blocks, free_space, mean_len).unwrap();
    bast::predict(&uniform).erasures
}

#[test]
fn grid_has_the_erasures_of_the_theory() {
    let place = Scratch::in_memory();
    let (result, grid, output) = measured(&place, "r", &ASKED);
    assert_eq!(result.manifest.options.state, State::Sequential);
    assert_eq!((grid.page, grid.block), (Bytes::kib(2), Some(Bytes::kib(128))));
    assert_eq!(grid.physical_capacity, Bytes::mib(128));
    let expected: Vec<(u32, f64)> =
        [1, 8, 64].into_iter().flat_map(|len| [0.2, 0.5, 1.0].map(|free| (len, free))).collect();
    assert_eq!(grid.points.len(), expected.len());
    for (point, (mean_len, free_space)) in grid.points.iter().zip(expected) {
        assert_eq!(*point, at(&grid, mean_len, free_space));
        assert!(point.steady, "{point:?}");
        // From a free space of 1 on, nearly every data block has a log block. A single log block
        // more or less then changes the result, and the test does not compare it with theory.
        if free_space < 1.0 {
            let theory = by_theory(&grid, point);
            let found = point.erasures_per_page.unwrap();
            assert!((found / theory - 1.0).abs() < 0.1, "{found} instead of {theory}: {point:?}");
        }
    }
    for (mean_len, more) in [(1, 8), (8, 64)] {
        for free_space in [0.2, 0.5, 1.0] {
            let (short, long) = (at(&grid, mean_len, free_space), at(&grid, more, free_space));
            assert!(long.erasures_per_page < short.erasures_per_page);
            assert!(long.write_amplification < short.write_amplification);
            assert!(long.per_page.value < short.per_page.value);
        }
    }
    assert!(at(&grid, 8, 1.0).erasures_per_page < at(&grid, 8, 0.2).erasures_per_page);
    assert!(output.contains("blocks erased per page, by mean length in pages"), "{output}");
    assert!(!output.contains("not steady"), "{output}");
    let again = place.run(&["report", "r", "--terminal"]).ok().stdout;
    assert!(output.starts_with(&again), "{again}");
    place.run(&["report", "r"]).ok();
}

#[test]
fn points_count_the_steady_writes_of_their_run() {
    let place = Scratch::in_memory();
    let (result, grid, _) = measured(&place, "r", &ASKED);
    for point in &grid.points {
        let run = result.manifest.runs().find(|run| run.id == point.run).unwrap();
        let Reference::Uniform { writes } = &run.reference else { panic!("{:?}", run.reference) };
        let records = result.records(run);
        let (before, counted) = records.split_at(usize::try_from(writes.io_ignore).unwrap());
        let bytes = |records: &[flashscope_block::Record]| -> u64 {
            records.iter().map(|record| record.len.0).sum()
        };
        assert_eq!((point.ios, point.pages), (counted.len() as u64, bytes(counted) / 2048));
        let nanos: u64 = counted.iter().map(|record| record.latency.0).sum();
        #[allow(clippy::cast_precision_loss)]
        let per_page = nanos as f64 / point.pages as f64;
        assert!(
            (point.per_page.value / per_page - 1.0).abs() < 1e-9 && point.per_page.covers(per_page)
        );
        // The run has five windows of warm-up, and at least two counted windows.
        let window = result.manifest.options.grid.unwrap().window(writes).0;
        assert!(bytes(before) >= 5 * window && bytes(counted) >= 2 * window, "{point:?}");
        let length = run.length.unwrap();
        match length.ended_by {
            EndedBy::Precision => assert!(length.relative_precision.unwrap() <= 0.02),
            other => assert_eq!(other, EndedBy::Bytes),
        }
        assert!(records.iter().all(|record| record.offset.0 + record.len.0 <= point.target.0));
    }
}

// The default grid ranges from the free space of the drive to the largest free space at which the
// longest writes fit.
#[test]
fn each_grid_option_changes_the_grid() {
    let place = Scratch::in_memory();
    let plan = |more: &[&str]| {
        let json = place.run(&[&["plan", DRIVE, "--grid", "--json"][..], more].concat()).ok();
        let plan: flashscope_document::plan::Plan = serde_json::from_str(&json.stdout).unwrap();
        let rule = plan.options.grid.unwrap();
        let of_run = |run: &flashscope_document::manifest::Run| match &run.reference {
            Reference::Uniform { writes } => (writes.mean_len, rule.free_space(writes)),
            other => panic!("{other:?}"),
        };
        let mut points: Vec<(u32, f64)> =
            flashscope_document::manifest::runs_of(&plan.micro_benchmarks).map(of_run).collect();
        points.iter_mut().for_each(|(_, space)| *space = (*space * 1000.0).round() / 1000.0);
        (points, rule)
    };
    let grid = |lengths: &[u32], spaces: &[f64]| -> Vec<(u32, f64)> {
        lengths.iter().flat_map(|len| spaces.iter().map(|space| (*len, *space))).collect()
    };
    let (all, rule) = plan(&[]);
    assert_eq!(all, grid(&[1, 4, 16, 64, 256], &[1.0, 0.5, 0.2, 0.1, 0.075]));
    assert_eq!(rule.page, Bytes::kib(4));
    // Shorter writes leave room for more free space.
    let (short, _) = plan(&["--grid-lengths", "2,1"]);
    assert_eq!(short.len(), 2 * 11);
    assert!(short[0].1 > 100.0 && short[10] == (1, 0.075), "{short:?}");
    let (two, _) = plan(&["--grid-spaces", "0.3,0.6", "--grid-lengths", "3"]);
    assert_eq!(two, grid(&[3], &[0.6, 0.3]));
    let (_, rule) = plan(&["--grid-page", "8KiB", "--capacity-inside", "200MiB"]);
    assert_eq!(rule.page, Bytes::kib(8));
    assert_eq!(rule.free + Bytes(124_823_552), Bytes::mib(200));
}

#[test]
fn budget_leaves_a_coarser_grid_or_none() {
    let place = Scratch::in_memory();
    let budget = [&ASKED[..], &["--budget-bytes", "2500MiB"]].concat();
    let outcome = place.run(&[&["bench", DRIVE, "--output", "r"][..], &budget].concat()).ok();
    assert_snapshot!(outcome.stderr.trim(), @"note: left out to keep within the budget: only 4 of the 9 points of the grid are measured");
    let grid = place.result("r").folder.grid().unwrap().unwrap();
    let corners: Vec<u32> = grid.points.iter().map(|point| point.mean_len).collect();
    assert_eq!(corners, [1, 1, 64, 64]);
    at(&grid, 1, 0.2);
    at(&grid, 64, 1.0);
    let small = [&ASKED[..], &["--budget-bytes", "200MiB"]].concat();
    let refused = place.run(&[&["bench", DRIVE, "--output", "s"][..], &small].concat());
    assert_snapshot!(refused.message(2, &place), @"flashscope: the budget cannot be met: the smallest useful plan takes 4731 s and writes 1.56 GiB, 119 MiB of it to bring the drive into its state; allow more, use less of the drive with --grid-spaces, or leave its state with --state keep");
}

// Only the history of the result may differ.
#[test]
fn killed_grid_resumes_to_the_same_bytes() {
    let place = Scratch::in_memory();
    let (_, whole, _) = measured(&place, "whole", &ASKED);
    let begin = [&["bench", DRIVE, "--output", "cut"][..], &ASKED].concat();
    let mut running = place.start(&begin);
    running.wait_until("three runs", || files_of_records(&place.at("cut")) >= 3);
    running.signal("-KILL");
    running.wait();
    assert!(place.result("cut").manifest.runs().any(|run| run.progress == Progress::Pending));
    place.run(&["bench", "--resume", "cut"]).ok();
    let cut = place.result("cut");
    assert_eq!(cut.manifest.status, Status::Complete);
    assert_eq!(cut.folder.grid().unwrap(), Some(whole));
    assert!(content(&place, "cut") == content(&place, "whole"));
}

#[test]
fn planned_grid_runs_on_a_file() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=8MiB", disk.arg("drive"));
    let grid = ["--grid", "--grid-lengths", "1,4", "--grid-spaces", "1,4"];
    let inside = ["--capacity-inside", "10MiB", "--precision", "50%"];
    let save = ["plan", &drive, "--output", "plan.json"];
    place.run(&[&save[..], &grid, &inside].concat()).ok();
    place.run(&["bench", "--plan", "plan.json", "--output", "r"]).ok();
    let result = place.result("r");
    let grid = result.folder.grid().unwrap().unwrap();
    assert_eq!((grid.points.len(), grid.block, grid.physical_capacity), (4, None, Bytes::mib(10)));
    for point in &grid.points {
        assert!(point.erasures_per_page.is_none() && point.write_amplification.is_none());
        assert!(point.per_page.value > 0.0 && point.target <= Bytes::mib(2));
    }
}

#[test]
fn invalid_grids_are_refused_with_advice() {
    let place = Scratch::in_memory();
    let refused = |more: &[&str]| {
        let arguments = [&["bench", DRIVE, "--output", "r"][..], more].concat();
        let message = place.run(&arguments).message(2, &place);
        assert!(place.names().is_empty(), "{:?}", place.names());
        message.replace(DRIVE, "DRIVE").split("\n\n").next().unwrap().to_string()
    };
    assert_snapshot!(refused(&["--grid", "--grid-spaces", "0.05"]), @"flashscope: a free space of 0.05 is too little: if `DRIVE` is written completely, its free space is 0.075 times the written space, and more if less is written; choose a larger value (--grid-spaces)");
    assert_snapshot!(refused(&["--grid", "--grid-spaces", "1000"]), @"flashscope: a free space of 1000 is too much: it leaves 8 KiB to write, and 8 writes of the mean length of 256 pages need 8 MiB; choose a smaller value (--grid-spaces), or shorter writes (--grid-lengths)");
    assert_snapshot!(refused(&["--grid", "--grid-spaces", "much"]), @"error: invalid value 'much' for '--grid-spaces <RATIOS>': give a number above 0, such as `0.1` or `10`");
    assert_snapshot!(refused(&["--grid", "--grid-lengths", "0"]), @"error: invalid value '0' for '--grid-lengths <PAGES>': 0 is not in 1..=4096");
    assert_snapshot!(refused(&["--grid", "--grid-page", "1000"]), @"flashscope: none of the runs can run on `DRIVE`; the reason for the first run: PageSize = 1000 B: must be a multiple of the logical block, 512 B");
    assert_snapshot!(refused(&["--grid", "--capacity-inside", "100MiB"]), @"flashscope: the flash of `DRIVE` cannot have only 100 MiB: the drive holds 119 MiB, and its flash must hold more; choose a larger value (--capacity-inside)");
    assert_snapshot!(refused(&["--grid", "--state", "random"]), @"flashscope: --grid: the free space of the drive's parts is only known if the whole drive was written in sequence: choose --state sequential, or --state keep if the drive is in that state");
    assert_snapshot!(refused(&["--grid", "--read-only"]), @"error: the argument '--grid' cannot be used with '--read-only'");
    assert_snapshot!(refused(&["--grid-lengths", "1"]), @r"
    error: the following required arguments were not provided:
      --grid
    ");
}

/// Page-mapped drives with a few spare blocks, which differ in blocks, spare space and policy.
const PAGE_MAPPED: [&str; 2] = [
    "sim:agrawal-2008?flash.packages=2&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=200\
     &flash.pages_per_block=32&over_provisioning=0.15&cleaning.free_threshold=0.02",
    "sim:demo?flash.packages=3&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=180\
     &over_provisioning=0.25&cleaning.policy=fifo&background_cleaning=false",
];

// The steady state that a grid of uniform writes implies agrees with a simulation, within the
// stated error.
#[test]
fn grid_of_a_page_mapped_drive_predicts_distributions() {
    let place = Scratch::in_memory();
    for (nth, drive) in PAGE_MAPPED.iter().enumerate() {
        let name = format!("r{nth}");
        let measure = ["bench", drive, "--output", &name, "--grid", "--grid-lengths", "1,2"];
        place.run(&measure).ok();
        for workload in
            ["uniform", "hotcold", "hotcold?hot_space=0.1&hot_writes=0.9", "zipf?reads=0.2"]
        {
            let command = [
                "predict",
                "--grid",
                &name,
                "--workload",
                workload,
                "--compare",
                "--ios",
                "50000",
                "--json",
            ];
            let found = place.run(&command).ok().stdout;
            let found: serde_json::Value = serde_json::from_str(&found).unwrap();
            let number = |at: &str| found.pointer(at).unwrap().as_f64().unwrap();
            assert_eq!(found["ftl"], "page-map");
            let error = number("/simulated/write_amplification_error");
            println!("{drive} {workload}: {} {error:+.3}", number("/write_amplification/value"));
            assert!(error.abs() < 0.06, "{found}");
            let simulated = number("/simulated/write_amplification");
            let [low, high] =
                ["low", "high"].map(|end| number(&format!("/write_amplification/interval/{end}")));
            assert!(low < simulated && simulated < high && low < high, "{found}");
            // A grid of uniform writes cannot show whether a drive separates hot data, which lowers
            // write amplification.
            let says =
                found["not_modelled"].to_string().contains("separation of hot and cold data");
            assert_eq!(says, workload != "uniform", "{found}");
            let time =
                number("/ns_per_page/value") / number("/simulated/simulated_ns_per_page") - 1.0;
            println!("time {time:+.3}");
        }
    }
}

#[test]
fn grid_of_a_page_mapped_drive_refuses_other_workloads() {
    let place = Scratch::in_memory();
    let measure = [
        "bench",
        PAGE_MAPPED[0],
        "--output",
        "r",
        "--grid",
        "--grid-lengths",
        "1,2",
        "--grid-spaces",
        "0.5,2",
    ];
    place.run(&measure).ok();
    for workload in ["postmark", "uniform?size=geometric:16KiB"] {
        let message =
            place.run(&["predict", "--grid", "r", "--workload", workload]).message(2, &place);
        assert!(message.contains("no other workload: fit a twin"), "{message}");
    }
    // With `--like fast`, the drive is predicted as a drive with log blocks.
    place.run(&["predict", "--grid", "r", "--workload", "postmark", "--like", "fast"]).ok();
}
