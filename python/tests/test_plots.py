"""Plots."""

import math
from pathlib import Path

import matplotlib
import pytest

import flashscope as fs

matplotlib.use("Agg")
from flashscope import plots  # noqa: E402


def test_response_times_has_every_io(measured: fs.Measurement) -> None:
    run = measured.facts.runs[0].run
    ax = plots.response_times(measured, run)
    each, means = ax.get_lines()
    latencies = measured.records(run).column("latency_ns")
    assert list(each.get_ydata()) == pytest.approx([latency / 1e6 for latency in latencies])
    assert means.get_ydata()[-1] == pytest.approx(sum(latencies) / len(latencies) / 1e6)


def test_micro_benchmark_has_a_line_for_each_experiment(measured: fs.Measurement) -> None:
    ax = plots.micro_benchmark(measured, "granularity")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SR", "RR", "SW", "RW"]
    assert ax.get_xscale() == "log"
    with pytest.raises(fs.UsageError, match="choose one of: granularity, locality"):
        plots.micro_benchmark(measured, "mix")


def test_locality_is_relative_to_sequential_writes(measured: fs.Measurement) -> None:
    (line,) = plots.locality(measured).get_lines()
    assert min(line.get_ydata()) > 0
    assert list(line.get_xdata()) == sorted(line.get_xdata())


def test_pauses_has_the_writes_between_the_reads(measured: fs.Measurement, tmp_path: Path) -> None:
    whole = fs.bench("sim:demo", only=["preparation"], output=tmp_path / "p.flashscope", progress=False)
    ax = plots.pauses(whole)
    reads, writes = ([math.isfinite(time) for time in line.get_ydata()] for line in ax.get_lines())
    count = len(reads)
    first, last = writes.index(True), count - writes[::-1].index(True)
    assert first == count // 4 and last == count // 2 and all(writes[first:last])
    assert [not read for read in reads] == writes
    assert whole.manifest.findings is not None
    lasted = whole.manifest.findings.interference[0].lasted_ns
    assert f"linger for {lasted * 1e-9:.3g} s" in ax.get_title()
    with pytest.raises(fs.UsageError, match="has no preparation"):
        plots.pauses(measured)
