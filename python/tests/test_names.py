"""Names of drives and workloads, and the options of commands."""

from datetime import timedelta

import pytest

import flashscope as fs
from flashscope._call import words


def test_fields_become_a_query_with_dotted_names() -> None:
    drive = fs.Drive("sim:demo", over_provisioning=0.28, cleaning={"policy": "fifo"})
    assert drive.name == "sim:demo?over_provisioning=0.28&cleaning.policy=fifo"
    assert drive.but(ftl="dftl").name == f"{drive.name}&ftl=dftl"
    assert fs.workload("zipf", exponent=0.9, from_=0).name == "zipf?exponent=0.9&from=0"
    assert fs.workload("uniform", size="4KiB", gap=timedelta(milliseconds=2)).name.endswith("gap=2000us")


def test_keywords_become_options() -> None:
    assert words({"only": ["order", "mix"], "read_only": True, "budget_time": None, "trace": "-x"}, "sim:a") == [
        "--only=order,mix",
        "--read-only",
        "--trace=-x",
        "--",
        "sim:a",
    ]


def test_info_depends_on_the_fields() -> None:
    small = fs.Drive("sim:demo").info()
    large = fs.Drive("sim:demo", flash={"packages": 16}).info()
    assert (small.kind, large.capacity_bytes > small.capacity_bytes) == ("sim", True)


def test_every_listed_drive_opens() -> None:
    assert "sim:demo" in [kind.name for kind in fs.drives()]
    assert {"uniform", "zipf", "tpcc"} <= {kind.name for kind in fs.workloads()}
    for kind in fs.drives():
        assert fs.Drive(kind.name).info().capacity_bytes > 0, kind.name


def test_ios_follow_from_fields_and_seed() -> None:
    reads = fs.workload("uniform", reads=1, size="8KiB").ios(1000)
    assert set(reads.column("op")) == {0}
    assert set(reads.column("length_bytes")) == {8192}
    offsets = [fs.workload("zipf").ios(100, seed=seed).column("offset_bytes") for seed in (1, 1, 2)]
    assert offsets[0] == offsets[1] != offsets[2]
    assert len(fs.workload("uflip:granularity/SR").ios(10)) == 10
    with pytest.raises(fs.UsageError, match="did you mean `zipf`"):
        fs.workload("zpif").ios(1)
