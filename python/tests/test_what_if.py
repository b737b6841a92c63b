"""What-ifs."""

from pathlib import Path

import pytest

import flashscope as fs
from flashscope.documents.what_if import Variant

DRIVE = fs.Drive("sim:demo", flash={"packages": 1, "dies_per_package": 1, "planes_per_die": 1, "blocks_per_plane": 64})
SHORT = {"ios": 2000, "warmup": "1x", "progress": False}


def test_each_change_is_a_variant_that_equals_its_own_simulation(tmp_path: Path) -> None:
    rows: list[Variant] = []
    more = {"over_provisioning": 0.3, "cleaning": {"policy": "fifo"}}
    result = DRIVE.what_if("uniform", more, "over_provisioning=1.5", row=rows.append, repeats=2, output=tmp_path / "w", **SHORT)
    assert fs.open(tmp_path / "w") == result
    assert result.status == "complete"
    assert [row.status for row in rows] == [None, None, None, "done", "done", "impossible"]
    assert rows[3:] == [result.base, *result.variants]
    base, changed = result.base, result.variants[0]
    assert [(change.field, change.value) for change in changed.changes] == [
        ("over_provisioning", "0.3"),
        ("cleaning.policy", "fifo"),
    ]
    amplification = {
        variant.name: one.value.value
        for variant in (base, changed)
        for one in variant.simulated
        if one.quantity == "write_amplification"
    }
    for variant, drive in ((base, DRIVE), (changed, DRIVE.but(**more))):
        alone = [fs.simulate(drive, "uniform", seed=seed, **SHORT).report.write_amplification for seed in (1, 2)]
        assert amplification[variant.name] == pytest.approx(sum(one or 0 for one in alone) / 2)


def test_wrong_fields_and_exceptions_stop_a_what_if() -> None:
    with pytest.raises(fs.UsageError, match="did you mean `over_provisioning`"):
        DRIVE.what_if("uniform", {"over_provisionin": 1}, **SHORT)

    def refuse(row: Variant) -> None:
        raise fs.Failed("no more")

    with pytest.raises(fs.Failed, match="no more"):
        DRIVE.what_if("uniform", {"over_provisioning": 0.3}, row=refuse, **SHORT)
