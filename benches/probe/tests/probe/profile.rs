//! Profiles of probed drives: a simulated drive with the profile shows the same parameters.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos};
use flashscope_document::probe::{Finding, Parameter};
use flashscope_probe::{Budget, Event, Investigation, Knowledge, Lab, investigate, profile};
use flashscope_probe_bench::drives::{Truth, generate};

/// Returns the findings of a perfect probe.
fn all_of(truth: impl IntoIterator<Item = (Parameter, Truth)>) -> Knowledge {
    let mut knowledge = Knowledge::default();
    for (parameter, truth) in truth {
        knowledge.add(match truth {
            Truth::Value(value) => Finding::exact(parameter, value, 0.99),
            Truth::Class(class) => Finding::class(parameter, class, 0.99),
            Truth::Absent => Finding::absent(parameter, 0.99),
        });
    }
    knowledge
}

/// Opens a drive from a profile in TOML.
fn open(toml: &str) -> Result<flashscope_sim::Drive, String> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), toml).unwrap();
    flashscope_sim::open(file.path().to_str().unwrap()).map_err(|error| error.to_string())
}

// The profiles are valid even if only every second parameter is known.
#[test]
fn profiles_of_true_parameters_are_valid_and_keep_the_capacity() {
    for seed in 0..120 {
        let random = generate(seed);
        let drive = flashscope_sim::open(&random.spec).unwrap();
        let every_other = random.truth.clone().into_iter().enumerate();
        let every_other = every_other
            .filter(|(i, (parameter, _))| i % 2 == 0 || *parameter == Parameter::Medium)
            .map(|(_, truth)| truth);
        for knowledge in [all_of(random.truth.clone()), all_of(every_other)] {
            let toml = profile(&knowledge, drive.info()).expect("the medium is flash");
            let twin = open(&toml).unwrap_or_else(|error| panic!("{seed}: {error}\n{toml}"));
            #[allow(clippy::cast_precision_loss)]
            let ratio = twin.info().capacity.0 as f64 / drive.info().capacity.0 as f64;
            assert!((0.9..1.1).contains(&ratio), "{seed}: {ratio} of the capacity\n{toml}");
        }
    }
}

fn probed(device: &mut dyn Device) -> Knowledge {
    let stop = AtomicBool::new(false);
    let mut keep = ();
    let budget = Budget { bytes: Bytes(10 * device.info().capacity.0), time: Nanos::MAX };
    let mut lab = Lab::new(device, budget, 1, &stop, &mut keep);
    let mut tell = |_: &Event<'_>| {};
    let parameters =
        [Parameter::RequestCost, Parameter::LargestRequest, Parameter::Groups, Parameter::PageSize];
    let mut investigation = Investigation { parameters: &parameters, observer: &mut tell };
    investigate(&mut lab, &mut investigation).0
}

#[test]
fn a_drive_with_the_probed_profile_shows_the_same_parameters() {
    for seed in 0..4 {
        let mut drive = flashscope_sim::open(&generate(seed).spec).unwrap();
        let known = probed(&mut drive);
        let toml = profile(&known, drive.info()).expect("the medium is flash");
        let again = probed(&mut open(&toml).unwrap());
        let both = known.findings().filter(|finding| finding.is_known());
        let mut count = 0;
        for finding in both {
            let twin = again.finding(finding.parameter).expect("each parameter has a finding");
            if twin.is_known() {
                count += 1;
                assert!(finding.agrees_with(twin), "{seed}: {finding:?}\n{twin:?}\n{toml}");
            }
        }
        assert!(count >= 1, "{seed}: no parameter is known of both");
    }
}
