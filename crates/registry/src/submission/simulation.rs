use std::sync::LazyLock;

use flashscope_block::Nanos;
use flashscope_document::SIMULATION_VERSION;
use flashscope_document::Simulation;
use flashscope_sim::observe::Findings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Submitted, check_device, check_fields, check_name, check_texts, check_version, id_of,
    last_part, strip_device,
};
use crate::check::{self, Ranges};
use crate::limits;

/// A simulated workload that is to be published: it has no records.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulationSubmission {
    /// Its name for people.
    #[schemars(length(min = 1, max = limits::NAME))]
    pub name: String,
    /// What came of it.
    pub simulation: Simulation<Findings>,
}

/// What its fields may be.
static RANGES: LazyLock<Ranges> = LazyLock::new(Ranges::of::<SimulationSubmission>);

impl Submitted for SimulationSubmission {
    /// How long it took to compute is all in which two runs of one seed
    /// differ, and does not count.
    fn id(&self) -> String {
        id_of(&Simulation { wall_ns: Nanos(0), ..self.simulation.clone() })
    }

    /// What is wrong with it: whether all that follows from something in it does.
    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let found = self.simulation.schema_version;
        check_version("simulations", found, SIMULATION_VERSION, "simulate it anew")?;
        check_device(&self.simulation.drive)?;
        check_texts([("workload", self.simulation.workload.as_str())])?;
        check_fields(self, &RANGES, || check::simulation(&self.simulation))
    }

    /// Leaves out the folders of profiles and traces.
    fn strip(&mut self) {
        strip_device(&mut self.simulation.drive, false);
        self.simulation.workload = last_part(&self.simulation.workload);
    }
}
