use flashscope_block::Device;
use flashscope_sim::SimDevice;

use super::{DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, SAMSUNG};
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State, Tolerance};

/// Table 2, in section 5.1.
pub(crate) const TABLE_2: Item = Item {
    id: "uflip-table2",
    paper: Paper::Uflip,
    place: "Table 2",
    title: "selected flash devices, and the simulated drives in their place",
    expected: State::NotReproduced,
    inputs: &[
        Input { other: "mtron", ..MEMORIGHT },
        Input { other: "samsung", ..MTRON },
        Input { other: "mtron", ..SAMSUNG },
        Input { other: "mtron", ..MODULE },
        Input { other: "mtron", ..MLC },
        Input { other: "mtron", ..DTHX },
        Input { other: "mtron", ..DTI },
    ],
    run,
};

/// The devices with an arrow: the input in place of each, the model, and the size in GB.
const DEVICES: [(&str, &str, f64); 7] = [
    (MEMORIGHT.name, "Memoright MR25.2-032S", 32.0),
    (SAMSUNG.name, "Samsung MCBQE32G5MPP", 32.0),
    (MTRON.name, "Mtron SATA7035-016", 16.0),
    (MLC.name, "Transcend TS32GSSD25S-M", 32.0),
    (DTHX.name, "Kingston DT hyper X", 8.0),
    (MODULE.name, "Transcend TS4GDOM40V-S", 4.0),
    (DTI.name, "Kingston DTI 4GB", 4.0),
];

const SCALED: &str = "the simulated drives have about 1 GiB, which can be filled quickly; their results concern patterns whose cost does not \
                     depend on the size of the drive";

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut claims = Vec::new();
    for (input, model, size) in DEVICES {
        let profile = run.profile(input)?;
        let simulated = profile.model.split(',').next().unwrap_or_default().to_string();
        claims.push(Claim::statement(model, simulated.clone(), simulated == model));
        let drive = SimDevice::new("sim:paper", &profile);
        let drive = drive.map_err(|error| Error::input(input, &error))?;
        #[allow(clippy::cast_precision_loss, reason = "a small drive is far below 2^53 bytes")]
        let gib = drive.info().capacity.0 as f64 / f64::from(1 << 30);
        claims.push(
            Claim::within((format!("{model}: size"), "GB"), size, gib, 0.1).not_reproduced_by(
                1.0,
                Tolerance::Share(0.03),
                SCALED,
            ),
        );
    }
    Ok(claims.into())
}
