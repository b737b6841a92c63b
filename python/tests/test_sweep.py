"""Design spaces, on this machine and on a Ray cluster."""

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
    """48 simulations, a third of them of points that cannot be."""
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


# Is a space the same as a dictionary, as TOML and as a file, and its rows those of the folder?
def test_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = fs.sweep(space(1000), progress=False)
    assert found.path == Path("sweep.flashscope")
    assert (found.report.counts.done, found.report.counts.impossible) == (32, 16)
    assert {point.factor for step in found.report.effects for point in [step.step]} == set(found.report.factors)
    points = pyarrow.table(found.points)
    assert points.to_pydict() == pyarrow.parquet.read_table(found.path / "points.parquet").to_pydict()
    assert set(found.points.column("factor.cleaning.policy")) == {"greedy", "fifo"}
    assert sum(row is not None for row in found.points.column("write_amplification")) == 32
    text = fs.sweep(found.report.space, output="text.flashscope", jobs=1, progress=False)
    Path("space.toml").write_text(found.report.space)
    file = fs.sweep("space.toml", progress=False)
    assert file.path == Path("space.flashscope")
    assert content(found) == content(text) == content(file)
    assert isinstance(fs.open(found.path), fs.Sweep)


# Is what is wrong with a space said as the command line does, and nothing left behind?
def test_wrong_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(fs.UsageError, match="none is no sweep"):
        fs.sweep(resume="none")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(fs.UsageError, match="none of the 2 points can be simulated; the first"):
        fs.sweep({"factors": {"over_provisioning": [1.1, 1.2]}}, progress=False)


def interrupted(engine: str, path: Path) -> fs.Sweep:
    """A sweep that Ctrl-C ended half-way."""

    def press(step: fs.Progress) -> None:
        assert step.phase == "simulating points"
        if step.total is not None and step.done > step.total / 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fs.Interrupted) as raised:
        fs.sweep(space(200_000), engine=engine, output=path, jobs=1, progress=press)
    assert isinstance(raised.value.partial, fs.Sweep)
    return raised.value.partial


# Is what was simulated kept when Ctrl-C ends a sweep, and gone on with to the same end?
def test_interrupted(tmp_path: Path, whole: list[bytes]) -> None:
    partial = interrupted("local", tmp_path / "cut")
    assert partial.report.status == "unfinished"
    assert 0 < len(partial.points) < 48
    assert content(fs.sweep(resume=partial.path, progress=False)) == whole


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What is in the folder of a sweep of a second or so."""
    return content(fs.sweep(space(200_000), output=tmp_path_factory.mktemp("whole") / "w", progress=False))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of three nodes with a processor each, all on this machine."""
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


# Does a sweep on a cluster come to the same bytes, with a node that is killed half-way and one that comes later? Are its
# rows kept as they come, and gone on with here?
def test_ray(cluster: Cluster, tmp_path: Path, whole: list[bytes]) -> None:
    node = {"num_cpus": 1, "object_store_memory": 80 << 20}
    nodes = [cluster.add_node(**node), cluster.add_node(**node)]
    done: list[int] = []

    def kill(step: fs.Progress) -> None:
        done.append(step.done)
        if len(nodes) == 2 and step.done > 16:
            cluster.remove_node(nodes.pop(), allow_graceful=False)

    found = fs.sweep(space(200_000), engine="ray", output=tmp_path / "r", progress=kill)
    assert len(nodes) == 1, "a node was killed"
    assert done == sorted(done) and 16 < done[-1] == 48, "no row counts twice"
    assert content(found) == whole
    search = {**space(1000), "sampling": "search", "samples": 12, "population": 4}
    here = fs.sweep(search, output=tmp_path / "h", progress=False)
    assert content(fs.sweep(search, engine="ray", output=tmp_path / "s", progress=False)) == content(here)


# Does Ctrl-C end a sweep on a cluster, and is it gone on with here, and there?
def test_interrupted_on_ray(cluster: Cluster, tmp_path: Path, whole: list[bytes]) -> None:
    partial = interrupted("ray", tmp_path / "cut")
    assert 0 < len(partial.points) < 48
    assert content(fs.sweep(resume=partial.path, progress=False)) == whole
    partial = interrupted("ray", tmp_path / "other")
    assert content(fs.sweep(resume=partial.path, engine="ray", progress=False)) == whole


# Is a cluster with another version of flashscope refused, and does the sweep go on elsewhere?
def test_other_version(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import flashscope._ray

    monkeypatch.setattr(flashscope._ray, "VERSION", "9.9")
    with pytest.raises(fs.UsageError, match=r"has flashscope .*, and here is 9.9: .*\n.*sweep\(resume='.*/v'"):
        fs.sweep(space(1000), engine="ray", output=tmp_path / "v", progress=False)
    assert fs.sweep(resume=tmp_path / "v", progress=False).report.status == "complete"


def command(cluster: Cluster, folder: Path, *words: str) -> dict[str, Any]:
    """What the package answers to the command line, which asks for a sweep on Ray."""
    told = [sys.executable, "-m", "flashscope", "sweep", *words]
    environment = {**os.environ, "RAY_ADDRESS": cluster.address}
    with subprocess.Popen(told, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        # Its standard input stays open: once that ends, it does.
        answer: dict[str, Any] = json.loads(running.stdout.read()) if running.stdout else {}
    assert running.returncode == 0
    return answer


# Does the command line get the folder of a sweep that another process has run on the cluster, and what is wrong?
def test_for_the_command_line(cluster: Cluster, tmp_path: Path, whole: list[bytes]) -> None:
    toml = json.loads(whole[0])["space"]
    (tmp_path / "space.toml").write_text(toml)
    assert command(cluster, tmp_path, "space.toml") == {"folder": "space.flashscope"}
    assert content(fs.Sweep(tmp_path / "space.flashscope")) == whole
    again = command(cluster, tmp_path, "space.toml")
    assert again["usage"] and "exists already" in again["error"]
