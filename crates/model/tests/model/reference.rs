//! Models agree with independent computations and with simulations.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use flashscope_model::{
    Fragments, Mix, Translation, Uniform, bast, bast_refined, d_choices, desnoyers, fast,
    fast_refined, fifo, greedy, head_len, head_len_as_printed, pools, random, trim, zipf,
};

/// A row of a table, by column name.
struct Row(HashMap<String, String>);

impl Row {
    #[track_caller]
    fn of(&self, column: &str) -> f64 {
        self.0[column].parse().unwrap()
    }
}

fn table(name: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reference").join(name);
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let values = line.split(',').map(str::to_string);
        Row(names.iter().map(|name| (*name).to_string()).zip(values).collect())
    };
    let rows: Vec<Row> = lines.map(row).collect();
    assert!(rows.len() >= 5, "{name} is nearly empty");
    rows
}

#[track_caller]
fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    let off = (got - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
    assert!(off <= tolerance, "{what}: {got} for {expected}, off by {off:.2e}");
}

/// Host pages written in the tables of log-block FTLs.
const WRITTEN: f64 = 1e7;
const BLOCK: f64 = 64.0;
const LOGICAL: f64 = 8192.0;

fn uniform(free_space: f64, mean_len: f64) -> Uniform {
    Uniform::new(BLOCK, LOGICAL, free_space, mean_len).unwrap()
}

// Compares equations 1 to 15 with the table, merge by merge.
#[test]
fn boboila_equations_agree_with_the_table() {
    for row in table("bast-fast-uniform.csv") {
        let w = row.of("w");
        let uniform = uniform(0.07, w);
        let what = format!("w = {w}");
        let hybrid = bast::predict(&uniform);
        close(hybrid.erasures * WRITTEN, row.of("BAST_E_eq7"), 1e-9, &what);
        close(hybrid.equivalent_throughput(BLOCK), row.of("BAST_r_eq7"), 1e-9, &what);
        let merges = hybrid.merges.unwrap();
        close(merges.switch * WRITTEN, row.of("BAST_Ms"), 1e-9, &what);
        close(merges.partial * WRITTEN, row.of("BAST_Mp"), 1e-9, &what);
        close(merges.full * WRITTEN, row.of("BAST_Mf"), 1e-9, &what);
        close(head_len(BLOCK, w), row.of("Hl_corrected"), 1e-9, &what);
        close(head_len_as_printed(BLOCK, w), row.of("Hl_printed"), 1e-9, &what);
        let fast = fast::predict(&uniform);
        close(fast.erasures * WRITTEN, row.of("FAST_E_corrected"), 1e-9, &what);
        close(fast.equivalent_throughput(BLOCK), row.of("FAST_r_corrected"), 1e-9, &what);
        let logs = Uniform::new(BLOCK, LOGICAL, 573.0 / LOGICAL, w).unwrap();
        let refined = fast_refined::predict(&logs);
        close(refined.equivalent_throughput(BLOCK), row.of("FAST_r_refined"), 1e-9, &what);
    }
}

// The predictions are compared with a simulation.
#[test]
fn boboila_deviations_are_within_known_bounds() {
    for row in table("bast-fast-uniform.csv") {
        let w = row.of("w");
        let what = format!("w = {w}");
        let r = |predicted: flashscope_model::Prediction| predicted.equivalent_throughput(BLOCK);
        let uniform = uniform(0.07, w);
        close(r(bast::predict(&uniform)), row.of("BAST_r_sim_fifo_eager"), 0.026, &what);
        let known = if w == 1.0 { 0.225 } else { 0.054 };
        close(r(fast::predict(&uniform)), row.of("FAST_r_sim"), known, &what);
        close(r(fast_refined::predict(&uniform)), row.of("FAST_r_sim"), 0.0095, &what);
        let logs = Uniform::new(BLOCK, LOGICAL, 573.0 / LOGICAL, w).unwrap();
        let (eager, lazy) = (bast_refined::eager(&logs), bast_refined::lazy(&logs));
        close(r(eager), row.of("BAST_r_sim_fifo_eager"), 0.002, &what);
        close(r(lazy), row.of("BAST_r_sim_fifo_lazy"), 0.002, &what);
    }
}

#[test]
fn boboila_deviations_are_bounded_for_other_free_space() {
    for row in table("bast-fast-free-space.csv") {
        let (f, w) = (row.of("f"), row.of("w"));
        let what = format!("f = {f}, w = {w}");
        let uniform = uniform(f, w);
        let r = |predicted: flashscope_model::Prediction| predicted.equivalent_throughput(BLOCK);
        close(r(bast::predict(&uniform)), row.of("BAST_eq7"), 1e-9, &what);
        close(r(fast::predict(&uniform)), row.of("FAST_eq15_corr"), 1e-9, &what);
        let known = if f <= 0.15 { 0.045 } else { 0.088 };
        close(r(bast::predict(&uniform)), row.of("BAST_sim_eager"), known, &what);
        close(r(fast_refined::predict(&uniform)), row.of("FAST_sim"), 0.0275, &what);
        let logs = Uniform::new(BLOCK, LOGICAL, (f * LOGICAL).floor() / LOGICAL, w).unwrap();
        close(r(bast_refined::eager(&logs)), row.of("BAST_sim_eager"), 0.006, &what);
        close(r(bast_refined::lazy(&logs)), row.of("BAST_sim_lazy"), 0.006, &what);
    }
}

// The exception is a whole block written to an empty log block, which costs one erase.
#[test]
fn a_log_block_for_each_data_block_costs_two_erases() {
    for free in [1.0, 5.0] {
        for predict in [bast_refined::eager, bast_refined::lazy] {
            close(predict(&uniform(free, 1.0)).equivalent_throughput(BLOCK), 0.5, 1e-12, "w = 1");
            let long = predict(&uniform(free, 1e9)).equivalent_throughput(BLOCK);
            close(long, 64.0 / 127.0, 1e-6, "all middles");
        }
    }
}

// Covers every policy, block size and spare space.
#[test]
fn page_map_models_agree_with_the_table() {
    for row in table("page-map-uniform.csv") {
        let alpha = row.of("alpha");
        let what = format!("alpha = {alpha}");
        close(fifo::write_amplification(alpha), row.of("FIFO"), 1e-6, &what);
        close(random::write_amplification(alpha), row.of("Random"), 1e-6, &what);
        for block in [32_u16, 64, 128, 256, 1024] {
            let what = format!("{what}, {block} pages");
            let pages = f64::from(block);
            let (mean_field, closed) =
                (format!("greedyMF_b{block}"), format!("greedyDes_b{block}"));
            close(greedy::write_amplification(alpha, pages), row.of(&mean_field), 1e-6, &what);
            close(desnoyers::write_amplification(alpha, pages), row.of(&closed), 1e-6, &what);
        }
        for choices in [1_u8, 2, 5, 10, 100] {
            let got = d_choices::write_amplification(alpha, 64.0, f64::from(choices)).unwrap();
            close(got, row.of(&format!("d{choices}_b64")), 1e-6, &format!("{what}, d = {choices}"));
        }
    }
}

// The pages are mixed, or separated with the optimal division of the spare space.
#[test]
fn hot_and_cold_pages_agree_with_the_table() {
    for row in table("page-map-hot-cold.csv") {
        let alpha = 1.0 / (1.0 - row.of("S_f"));
        let mix = Mix::hot_cold(row.of("r"), row.of("f")).unwrap();
        let what = format!("{mix:?}, alpha = {alpha}");
        close(mix.fifo(alpha), row.of("FIFO_mixed"), 1e-6, &what);
        close(mix.greedy(alpha, 64.0), row.of("greedyDes_mixed_b64"), 1e-6, &what);
        let apart = pools::best(&mix, alpha, fifo::write_amplification);
        close(apart.write_amplification, row.of("FIFO_sep_opt"), 1e-6, &what);
        close(apart.spare[0], row.of("p_hot_fifo"), 1e-4, &what);
        close(apart.spare.iter().sum(), 1.0, 1e-9, &what);
        let apart = pools::best(&mix, alpha, |own| greedy::write_amplification(own, 64.0));
        close(apart.write_amplification, row.of("greedyMF_sep_opt_b64"), 1e-6, &what);
        close(apart.spare[0], row.of("p_hot_greedy"), 1e-3, &what);
    }
}

#[test]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the table holds whole, positive numbers of pages"
)]
fn zipf_writes_agree_with_the_table() {
    for row in table("page-map-zipf-fifo.csv") {
        let mix = zipf::classes(row.of("U") as u64, row.of("s")).unwrap();
        for spare in ["0.07", "0.1", "0.15", "0.2", "0.28"] {
            let alpha = 1.0 / (1.0 - spare.parse::<f64>().unwrap());
            let expected = row.of(&format!("FIFO_Sf{spare}"));
            close(mix.fifo(alpha), expected, 1e-6, &format!("s = {}", row.of("s")));
        }
    }
}

#[test]
fn trims_agree_with_the_table() {
    for row in table("page-map-trim.csv") {
        let alpha = 1.0 / (1.0 - row.of("S_f"));
        let q = row.of("q");
        let what = format!("q = {q}");
        close(trim::live(q).unwrap(), row.of("live_frac"), 1e-9, &what);
        let alpha = trim::effective_alpha(alpha, q).unwrap();
        close(fifo::write_amplification(alpha), row.of("FIFO"), 1e-6, &what);
        close(greedy::write_amplification(alpha, 64.0), row.of("greedyMF_b64"), 1e-6, &what);
        close(desnoyers::write_amplification(alpha, 64.0), row.of("greedyDes_b64"), 1e-6, &what);
    }
}

// Compares the cleaning efficiency with Agrawal's section 5.2, corrected.
#[test]
fn half_full_drives_agree_with_agrawal() {
    for row in table("agrawal-half-full.csv") {
        let alpha = 1.0 / (1.0 - row.of("S_f"));
        let what = format!("alpha = {alpha}");
        close(1.0 / fifo::write_amplification(alpha), row.of("eff_full_fifo"), 1e-6, &what);
        close(1.0 / fifo::write_amplification(2.0 * alpha), row.of("eff_half_fifo"), 1e-6, &what);
        let [full, half] =
            [alpha, 2.0 * alpha].map(|alpha| 1.0 / greedy::write_amplification(alpha, 64.0));
        close(full, row.of("eff_full_g64"), 1e-6, &what);
        close(half, row.of("eff_half_g64"), 1e-6, &what);
        close(half / full, row.of("ratio_g64"), 1e-6, &what);
    }
}

#[test]
fn dftl_mapping_traffic_agrees_with_a_simulated_cache() {
    for row in table("dftl-mapping-traffic.csv") {
        let (cached, reads) = (row.of("C_over_U"), row.of("readfrac"));
        let batched = row.of("batch") == 1.0;
        let what = format!("C/U = {cached}, {reads} reads, batched: {batched}");
        let translation = if batched {
            // The formula covers pure writes only.
            if reads > 0.0 {
                continue;
            }
            Translation::batched(cached, row.of("Ent")).unwrap()
        } else {
            Translation::one_by_one(cached, reads).unwrap()
        };
        close(translation.misses, row.of("TP_fetch_reads_per_op"), 0.02, &what);
        // The size of a large batch differs from the mean number of cached entries.
        let known = if batched { 0.06 } else { 0.02 };
        close(translation.write_backs, row.of("TP_writebacks_per_op"), known, &what);
    }
}

// Checks the exact form, for geometric lengths.
#[test]
fn fragments_add_up_to_all_pages() {
    for w in [1.0, 7.0, 64.0, 1000.0] {
        let fragments = Fragments::geometric(&uniform(0.07, w));
        let tails = fragments.tails * fragments.tail_len(BLOCK);
        let all = fragments.heads * fragments.head_len + fragments.middles * BLOCK + tails;
        close(all, 1.0, 1e-9, &format!("w = {w}"));
    }
}
