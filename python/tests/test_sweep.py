"""Sweeps, on this machine and on a Ray cluster."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import ray
from ray.cluster_utils import Cluster

import flashscope as fs

TINY = "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=64"


def space(ios: int) -> dict[str, Any]:
    """A space of 48 simulations, a third of them of impossible points."""
    return {
        "drive": fs.Drive(TINY),
        "ios": ios,
        "warm_up": "1x",
        "repeats": 2,
        "factors": {
            "over_provisioning": [0.15, 0.3, 1.3],
            "cleaning": {"policy": ["greedy", "fifo"]},
            "workload": {"reads": {"from_": 0.0, "to": 0.75, "step": 0.25}},
        },
    }


def content(sweep: fs.Sweep) -> list[bytes]:
    assert sorted(path.name for path in sweep.path.iterdir()) == ["points.parquet", "sweep.json"]
    return [(sweep.path / name).read_bytes() for name in ("sweep.json", "points.parquet")]


def test_a_space_is_the_same_as_dictionary_text_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    swept = fs.sweep(space(1000), progress=False)
    assert swept.path == Path("sweep.flashscope")
    assert (swept.report.counts.done, swept.report.counts.impossible) == (32, 16)
    assert {point.factor for step in swept.report.effects for point in [step.step]} == set(swept.report.factors)
    points = pyarrow.table(swept.points)
    assert points.to_pydict() == pyarrow.parquet.read_table(swept.path / "points.parquet").to_pydict()
    assert set(swept.points.column("factor.cleaning.policy")) == {"greedy", "fifo"}
    assert sum(row is not None for row in swept.points.column("write_amplification")) == 32
    text = fs.sweep(swept.report.space, output="text.flashscope", jobs=1, progress=False)
    Path("space.toml").write_text(swept.report.space)
    file = fs.sweep("space.toml", progress=False)
    assert file.path == Path("space.flashscope")
    assert content(swept) == content(text) == content(file)
    assert isinstance(fs.open(swept.path), fs.Sweep)


def test_a_wrong_space_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for wrong, says in [
        ({"factors": {"over_provisionin": [0.1]}}, "did you mean `over_provisioning`?"),
        ("factors = {}", "at least one factor"),
        ("none.toml", "cannot read none.toml"),
        (None, "required"),
    ]:
        with pytest.raises(fs.UsageError, match=says.replace("?", r"\?")):
            fs.sweep(wrong)
    with pytest.raises(fs.UsageError, match="invalid value 'rya' for 'engine"):
        fs.sweep(space(1), engine="rya")
    with pytest.raises(fs.UsageError, match="none is not a sweep"):
        fs.sweep(resume="none")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(fs.UsageError, match="none of the 2 points can be simulated; the error of the first"):
        fs.sweep({"factors": {"over_provisioning": [1.1, 1.2]}}, progress=False)


def interrupted(engine: str, path: Path) -> fs.Sweep:
    """Returns a sweep that Ctrl-C stopped after a third of its simulations."""

    def press(step: fs.Progress) -> None:
        assert step.phase == "simulating points"
        if step.total is not None and step.done > step.total / 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fs.Interrupted) as raised:
        fs.sweep(space(200_000), engine=engine, output=path, jobs=1, progress=press)
    assert isinstance(raised.value.partial, fs.Sweep)
    return raised.value.partial


def test_ctrl_c_keeps_rows_and_a_resumed_sweep_is_the_same(tmp_path: Path, whole: list[bytes]) -> None:
    partial = interrupted("local", tmp_path / "cut")
    assert partial.report.status == "unfinished"
    assert 0 < len(partial.points) < 48
    assert content(fs.sweep(resume=partial.path, progress=False)) == whole


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The files of a sweep that takes about a second."""
    return content(fs.sweep(space(200_000), output=tmp_path_factory.mktemp("whole") / "w", progress=False))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster on this machine with one node of one CPU; tests add nodes."""
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_sweep_on_ray_is_the_same_despite_a_lost_node(cluster: Cluster, tmp_path: Path, whole: list[bytes]) -> None:
    node = {"num_cpus": 1, "object_store_memory": 80 << 20}
    nodes = [cluster.add_node(**node), cluster.add_node(**node)]
    done: list[int] = []

    def kill(step: fs.Progress) -> None:
        done.append(step.done)
        if len(nodes) == 2 and step.done > 16:
            cluster.remove_node(nodes.pop(), allow_graceful=False)

    swept = fs.sweep(space(200_000), engine="ray", output=tmp_path / "r", progress=kill)
    assert len(nodes) == 1, "a node was killed"
    assert done == sorted(done) and 16 < done[-1] == 48, "no row counts twice"
    assert content(swept) == whole
    search = {**space(1000), "sampling": "search", "samples": 12, "population": 4}
    here = fs.sweep(search, output=tmp_path / "h", progress=False)
    assert content(fs.sweep(search, engine="ray", output=tmp_path / "s", progress=False)) == content(here)


def test_a_sweep_stopped_on_ray_resumes_anywhere(cluster: Cluster, tmp_path: Path, whole: list[bytes]) -> None:
    partial = interrupted("ray", tmp_path / "cut")
    assert 0 < len(partial.points) < 48
    assert content(fs.sweep(resume=partial.path, progress=False)) == whole
    partial = interrupted("ray", tmp_path / "other")
    assert content(fs.sweep(resume=partial.path, engine="ray", progress=False)) == whole


def test_a_worker_of_another_version_is_refused(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import flashscope._ray

    monkeypatch.setattr(flashscope._ray, "VERSION", "9.9")
    with pytest.raises(fs.UsageError, match=r"has flashscope .*, and here is 9.9: .*\n.*sweep\(resume='.*/v'"):
        fs.sweep(space(1000), engine="ray", output=tmp_path / "v", progress=False)
    assert fs.sweep(resume=tmp_path / "v", progress=False).report.status == "complete"


def command(cluster: Cluster, folder: Path, *words: str) -> dict[str, Any]:
    """Runs a sweep on Ray as the command line does; returns the output of the package."""
    arguments = [sys.executable, "-m", "flashscope", "sweep", *words]
    environment = {**os.environ, "RAY_ADDRESS": cluster.address}
    with subprocess.Popen(arguments, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        # The process stops when its standard input closes, so the pipe stays open.
        answer: dict[str, Any] = json.loads(running.stdout.read()) if running.stdout else {}
    assert running.returncode == 0
    return answer


def test_the_command_line_gets_the_folder_or_the_error(cluster: Cluster, tmp_path: Path, whole: list[bytes]) -> None:
    toml = json.loads(whole[0])["space"]
    (tmp_path / "space.toml").write_text(toml)
    assert command(cluster, tmp_path, "space.toml") == {"folder": "space.flashscope"}
    assert content(fs.Sweep(tmp_path / "space.flashscope")) == whole
    again = command(cluster, tmp_path, "space.toml")
    assert again["usage"] and "exists already" in again["error"]
