use std::sync::LazyLock;

use flashscope_block::Nanos;
use flashscope_document::SIMULATION_VERSION;
use flashscope_document::Simulation;
use flashscope_sim::observe::Findings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    SubmissionContent, check_device, check_fields, check_name, check_texts, check_version, id_of,
    last_part, strip_device,
};
use crate::check::{self, Ranges};
use crate::limits;

/// A simulation to publish; it has no record files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulationSubmission {
    /// The display name.
    #[schemars(length(min = 1, max = limits::NAME))]
    pub name: String,
    /// The document of the simulation.
    pub simulation: Simulation<Findings>,
}

/// The limits of the fields.
static RANGES: LazyLock<Ranges> = LazyLock::new(Ranges::of::<SimulationSubmission>);

impl SubmissionContent for SimulationSubmission {
    /// Returns the id, which does not depend on the computing time: two simulations with the same
    /// seed differ only in this time.
    fn id(&self) -> String {
        id_of(&Simulation {
            wall_ns: Nanos(0),
            speed: None,
            conclusions: Vec::new(),
            ..self.simulation.clone()
        })
    }

    /// Checks that the simulation is consistent with itself.
    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let version = self.simulation.schema_version;
        check_version("simulations", version, SIMULATION_VERSION, "simulate again")?;
        check_device(&self.simulation.drive)?;
        check_texts([("workload", self.simulation.workload.as_str())])?;
        check_fields(self, &RANGES, || check::check_simulation(&self.simulation))
    }

    /// Removes the folders of profiles and traces, and the conclusions, which the registry derives
    /// itself.
    fn strip(&mut self) {
        self.simulation.conclusions.clear();
        strip_device(&mut self.simulation.drive, false);
        self.simulation.workload = last_part(&self.simulation.workload);
    }
}
