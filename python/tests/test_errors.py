"""Exceptions with the messages of the command line."""

from pathlib import Path

import pytest

import flashscope as fs


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: fs.bench("sim:demo", onyl=["mix"]), "unexpected argument 'onyl' found\n\n  tip: a similar"),
        (lambda: fs.bench("sim:demo", only=["granulrity"]), "did you mean `granularity`?)\nchoose one of: preparation"),
        (lambda: fs.bench("demo"), "`demo` is not a drive (did you mean `sim:demo`?)\nknown drives: /dev/NAME"),
        (lambda: fs.bench("sim:demo", repeats=0), "invalid value '0' for 'repeats'"),
        (lambda: fs.bench("sim:demo", io_count=1, precision="2%"), "cannot be used with"),
        (lambda: fs.probe("sim:demo", only=["pages"]), "`pages` is not a parameter"),
        (lambda: fs.predict("sim:demo?over_provision=1"), "did you mean `over_provisioning`?"),
        (lambda: fs.predict("file:x"), "`file:x` is not a simulated drive"),
        (lambda: fs.predict("demo", model="fast"), "the model `fast` is not for ftl"),
        (lambda: fs.trace("a.csv", spede=2).requests(), "did you mean `speed`?"),
        (lambda: fs.open("nowhere.flashscope"), "nowhere.flashscope"),
        (lambda: fs.Drive("file:nothing.img").info(), "nothing.img is not there yet"),
    ],
)
def test_errors_have_the_message_of_the_command_line(ask, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fs.UsageError) as raised:
        ask()
    assert says in str(raised.value)
    assert not str(raised.value).startswith("error")
    assert list(tmp_path.iterdir()) == [], "a refused call leaves nothing behind"


def test_a_broken_line_has_its_number_and_can_be_skipped(tmp_path: Path, traces: Path) -> None:
    lines = (traces / "msr.csv").read_text().splitlines()
    broken = tmp_path / "broken.csv"
    broken.write_text("\n".join([*lines[:2], "this is no request", *lines[2:]]))
    with pytest.raises(fs.UsageError, match="line 3"):
        fs.trace(broken).requests()
    with pytest.warns(fs.Note, match="1 "):
        assert len(fs.trace(broken, on_bad_line="skip").requests()) == len(lines)


def test_an_existing_result_is_not_overwritten(measured: fs.Measurement) -> None:
    with pytest.raises(fs.UsageError, match="exists already.*overwrite=True"):
        fs.bench("sim:demo", output=measured.path)
