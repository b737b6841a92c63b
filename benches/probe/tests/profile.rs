//! What is found of a drive makes a simulated drive that shows the same.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos};
use flashscope_probe::{
    Budget, Event, Finding, Investigation, Knowledge, Lab, Parameter, investigate, profile,
};
use flashscope_probe_bench::drives::{Truth, draw};

/// What a probe would know that finds everything.
fn all_of(truth: impl IntoIterator<Item = (Parameter, Truth)>) -> Knowledge {
    let mut knowledge = Knowledge::default();
    for (parameter, truth) in truth {
        knowledge.take(match truth {
            Truth::Value(value) => Finding::exact(parameter, value, 0.99),
            Truth::Class(class) => Finding::class(parameter, class, 0.99),
            Truth::Absent => Finding::absent(parameter, 0.99),
        });
    }
    knowledge
}

/// A drive of a profile in TOML.
fn opened(toml: &str) -> Result<flashscope_sim::Drive, String> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), toml).unwrap();
    flashscope_sim::open(file.path().to_str().unwrap()).map_err(|error| error.to_string())
}

// Does `sim:` take the profile of any drive of which everything was found, or only some, and has that
// drive its capacity?
#[test]
fn profiles_of_what_is_true() {
    for seed in 0..120 {
        let drawn = draw(seed);
        let drive = flashscope_sim::open(&drawn.spec).unwrap();
        let every_other = drawn.truth.clone().into_iter().enumerate();
        let every_other = every_other
            .filter(|(i, (parameter, _))| i % 2 == 0 || *parameter == Parameter::Medium)
            .map(|(_, truth)| truth);
        for knowledge in [all_of(drawn.truth.clone()), all_of(every_other)] {
            let toml = profile(&knowledge, drive.info()).expect("it is flash");
            let twin = opened(&toml).unwrap_or_else(|error| panic!("{seed}: {error}\n{toml}"));
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
    let wanted =
        [Parameter::RequestCost, Parameter::LargestRequest, Parameter::Groups, Parameter::PageSize];
    investigate(&mut lab, &mut Investigation { wanted: &wanted, tell: &mut tell }).0
}

// Is what was found of a drive found of its twin again?
#[test]
fn twins_show_the_same() {
    for seed in 0..4 {
        let mut drive = flashscope_sim::open(&draw(seed).spec).unwrap();
        let known = probed(&mut drive);
        let toml = profile(&known, drive.info()).expect("it is flash");
        let again = probed(&mut opened(&toml).unwrap());
        let both = known.findings().filter(|finding| finding.is_known());
        let mut count = 0;
        for finding in both {
            let twin = again.finding(finding.parameter).expect("something is stated of each");
            if twin.is_known() {
                count += 1;
                assert!(finding.agrees_with(twin), "{seed}: {finding:?}\n{twin:?}\n{toml}");
            }
        }
        assert!(count >= 1, "{seed}: nothing was found of both");
    }
}
