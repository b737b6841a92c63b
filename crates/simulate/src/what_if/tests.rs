use flashscope_document::sweep::RowStatus;
use flashscope_document::what_if::{Quantity, Variant, WhatIf, WhatIfStatus};
use flashscope_measure::WarmUp;
use flashscope_sim::budget::Budget;
use flashscope_stats::mean_of_repeats;

use super::*;
use crate::sweep::Runner;
use crate::{Resources, SimulationRequest, Work, simulate};

/// A drive so small that filling it takes no time.
const SMALL: &str = "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&\
                     flash.blocks_per_plane=64";

fn base() -> SimulationRequest {
    let work = Work { ios: Some(4000), warm_up: Some(WarmUp::Ios(4000)), ..Work::default() };
    SimulationRequest { drive: SMALL.into(), work }
}

fn asking(text: &str) -> VariantRequest {
    VariantRequest { name: None, changes: changes(text).unwrap() }
}

fn question(texts: &[&str], repeats: u32) -> Question {
    Question::new(
        base(),
        texts.iter().map(|text| asking(text)).collect(),
        repeats,
        &Budget::default(),
    )
    .unwrap()
}

/// Simulates a question on `jobs` threads. Returns the answer, and the order in which variants were
/// reported.
fn answered(question: &Question, jobs: usize) -> (WhatIf, Vec<usize>) {
    let (mut answer, mut order) = (Answer::to(question), Vec::new());
    let stop = false.into();
    let mut each = |row: &_| answer.simulated(row, &mut |_, nth| order.push(nth));
    Runner::new(Resources::new(jobs, &stop), &mut ()).passing(&mut each).run(&question.trials());
    (answer.finish(), order)
}

fn of(variant: &Variant, quantity: Quantity) -> &flashscope_document::what_if::SimulatedQuantity {
    variant.simulated.iter().find(|one| one.quantity == quantity).unwrap()
}

#[test]
fn changes_may_contain_commas_and_must_set_known_fields() {
    let read = changes("ftl=fast, workload.ops=read,write,over_provisioning=0.1").unwrap();
    let read: Vec<(&str, &str)> =
        read.iter().map(|change| (change.field.as_str(), change.value.as_str())).collect();
    assert_eq!(
        read,
        [("ftl", "fast"), ("workload.ops", "read,write"), ("over_provisioning", "0.1")]
    );
    let whole = changes("workload=zipf?exponent=0.9&reads=0.5").unwrap();
    assert_eq!(whole[0].value, "zipf?exponent=0.9&reads=0.5");
    for (text, says) in [
        ("over_provisionin=0.1", "did you mean `over_provisioning`?"),
        ("workload.raeds=1", "did you mean `workload.reads`?"),
        ("fast", "`fast` changes nothing"),
        ("", "changes nothing"),
    ] {
        let message = changes(text).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn invalid_questions_are_errors() {
    let of = |base: SimulationRequest, variants: Vec<VariantRequest>, repeats| {
        Question::new(base, variants, repeats, &Budget::default()).unwrap_err().to_string()
    };
    let one = || asking("ftl=fast");
    assert!(of(base(), vec![one(), one()], 1).contains("two variants are named `ftl=fast`"));
    let named = VariantRequest { name: Some(BASE.into()), ..one() };
    assert!(of(base(), vec![named], 1).contains("named `baseline`"));
    assert!(of(base(), Vec::new(), 1).contains("at least one variant"));
    assert!(of(base(), vec![one()], 0).contains("from 1 to"));
    let drive = |drive: &str| SimulationRequest { drive: drive.into(), ..base() };
    assert!(of(drive("sim:dmo"), vec![one()], 1).contains("did you mean `demo`?"));
    assert!(
        of(drive("sim:demo?over_provisioning=2"), vec![one()], 1).contains("over_provisioning")
    );
    let mut wrong = base();
    wrong.work.workload = "unifrm".into();
    assert!(of(wrong, vec![one()], 1).contains("uniform"));
}

#[test]
fn rows_equal_single_simulations() {
    let question = question(&["over_provisioning=0.3,workload.reads=0.5"], 1);
    let (answer, _) = answered(&question, 2);
    for variant in answer.all() {
        let mut request = base();
        request.drive.clone_from(&variant.drive);
        request.work.workload.clone_from(&variant.workload);
        let simulation = simulate(&request, &false.into(), &mut ()).unwrap().simulation;
        let latency = simulation.latency_ns.unwrap();
        let erases = simulation.erases.values().sum::<u64>() as f64;
        let written = simulation.bytes_written.0 as f64;
        for (quantity, expected) in [
            (Quantity::MeanLatency, latency.mean.value),
            (Quantity::P99Latency, latency.p99 as f64),
            (Quantity::IosPerSecond, simulation.ios_per_second.unwrap()),
            (Quantity::WriteAmplification, simulation.write_amplification.unwrap()),
            (Quantity::ErasesPerGib, erases / written * f64::from(1 << 30)),
        ] {
            let value = of(variant, quantity).value;
            assert_eq!((value.value, value.low), (expected, None), "{quantity:?}");
        }
        let profile = flashscope_sim::setup::parse(&variant.drive["sim:".len()..]).unwrap();
        let blocks = 64.0 * f64::from(profile.layout().unwrap().reliability.block_lifetime);
        let endurance = of(variant, Quantity::Endurance).value.value;
        assert!((endurance * erases / (blocks * written) - 1.0).abs() < 1e-12, "{endurance}");
    }
    assert!(answer.base.simulated.iter().all(|one| one.difference.is_none()));
    assert!(answer.variants[0].workload.ends_with("uniform?reads=0.5"));
}

#[test]
fn paired_differences_have_narrower_intervals() {
    let mut base = base();
    // The number of reads is random, but the same in each pair.
    base.work.workload = "uniform?reads=0.5".into();
    let question =
        Question::new(base, vec![asking("cleaning.policy=fifo")], 6, &Budget::default()).unwrap();
    let (answer, _) = answered(&question, 2);
    for quantity in [Quantity::IosPerSecond, Quantity::MeanLatency] {
        let (base, variant) = (of(&answer.base, quantity), of(&answer.variants[0], quantity));
        let difference = variant.difference.as_ref().unwrap();
        let slower = if quantity == Quantity::MeanLatency { 1 } else { -1 };
        assert_eq!(difference.sign, slower, "{difference:?}");
        let [one, other] = [base, variant].map(|one| one.value.half_width().unwrap());
        let (paired, unpaired) = (difference.absolute.half_width().unwrap(), one.hypot(other));
        println!("{quantity:?}: {paired} for {unpaired}");
        assert!(paired < 0.8 * unpaired, "{quantity:?}: {paired} for {unpaired}");
        let means = variant.value.value - base.value.value;
        assert!((difference.absolute.value - means).abs() < 1e-9 * base.value.value);
    }
    assert!(mean_of_repeats(&[1.0]).unwrap().low.is_none(), "one repeat has no interval");
}

#[test]
fn impossible_variants_do_not_stop_the_others() {
    let changes = ["over_provisioning=3", "over_provisioning=0.3", "workload=trace:/no/such"];
    let (answer, order) = answered(&question(&changes, 2), 2);
    assert_eq!(answer.status, WhatIfStatus::Complete);
    assert_eq!(order, [0, 1, 2, 3]);
    let statuses: Vec<_> = answer.all().map(|variant| variant.status.unwrap()).collect();
    let (done, impossible) = (RowStatus::Done, RowStatus::Impossible);
    assert_eq!(statuses, [done, impossible, done, RowStatus::Failed]);
    assert_eq!(answer.count(impossible), 1);
    assert!(answer.variants[0].reason.as_ref().unwrap().contains("over_provisioning"));
    assert!(answer.variants[2].reason.as_ref().unwrap().contains("/no/such"));
    assert!(answer.variants[1].simulated.iter().all(|one| one.difference.is_some()));
}

#[test]
fn answer_does_not_depend_on_threads_or_order() {
    let question = question(&["over_provisioning=0.3", "ftl=nonsense", "workload.reads=0.5"], 2);
    let (one, order) = answered(&question, 1);
    assert_eq!(answered(&question, 3), (one.clone(), order));
    let mut rows: Vec<_> = question
        .trials()
        .iter()
        .map(|trial| crate::sweep::run_trial(trial, &Budget::default(), &false.into()).unwrap())
        .collect();
    rows.reverse();
    let (mut answer, mut order) = (Answer::to(&question), Vec::new());
    for row in &rows {
        assert_eq!(answer.so_far().status, WhatIfStatus::Unfinished);
        answer.simulated(row, &mut |_, nth| order.push(nth));
    }
    assert_eq!((answer.finish(), order), (one, vec![0, 1, 2, 3]));
}

#[test]
fn stopped_answer_keeps_finished_variants() {
    let question = question(&["over_provisioning=0.3"], 2);
    let mut answer = Answer::to(&question);
    for trial in &question.trials()[..3] {
        let row = crate::sweep::run_trial(trial, &Budget::default(), &false.into()).unwrap();
        answer.simulated(&row, &mut |_, _| {});
    }
    let answer = answer.finish();
    assert_eq!(answer.status, WhatIfStatus::Unfinished);
    assert_eq!(answer.base.status, Some(RowStatus::Done));
    assert_eq!(answer.variants[0].status, None);
}
