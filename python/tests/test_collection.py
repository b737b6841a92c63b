"""Collections of traces."""

import signal
from pathlib import Path

import pytest

import flashscope as fs


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty traces of five volumes that write and one that reads."""
    folder = tmp_path_factory.mktemp("files")
    for file in range(20):
        lines = [f"{i % 6},{'R' if i % 6 == 5 else 'W'},{i * 7 % 90 * 4096},4096,{file * 1000 + i}\n" for i in range(60)]
        (folder / f"{file:02}.csv").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory) -> fs.Collection:
    return fs.collection(files, format="alibaba", output=tmp_path_factory.mktemp("whole") / "w.flashscope", progress=False)


def test_a_collection_has_a_row_for_each_volume(whole: fs.Collection) -> None:
    assert whole.report.total is not None
    assert whole.report.total.requests.total == 20 * 60
    assert [volume.name for volume in whole.report.volumes] == list("012345")
    assert whole.report.plan.fields == {"format": "alibaba"}
    assert whole._repr_html_().count("<tr>") == 7
    opened = fs.open(whole.path)
    assert isinstance(opened, fs.Collection) and opened.report == whole.report


def test_a_prediction_of_a_collection_has_a_row_for_each_volume(whole: fs.Collection) -> None:
    predicted = fs.predict("sim:demo", collection=whole, progress=False)
    assert [volume.name for volume in predicted.volumes] == list("012345")
    assert predicted.summary.predicted == 5
    assert predicted.volumes[5].predicted is None and predicted.volumes[5].problem == "it has no writes"
    assert fs.predict(collection=str(whole.path)).summary == predicted.summary
    with pytest.raises(fs.UsageError, match="cannot be used with"):
        fs.predict("sim:demo", "uniform", collection=whole)  # type: ignore[call-overload]


def test_a_collection_stopped_by_ctrl_c_resumes_to_the_same_statistics(
    files: Path, whole: fs.Collection, tmp_path: Path
) -> None:
    def press(step: fs.Progress) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        fs.collection(files, format="alibaba", output=tmp_path / "c.flashscope", progress=press)
    if isinstance(raised.value, fs.Interrupted):
        assert isinstance(raised.value.partial, fs.Collection)
        resumed = fs.collection(resume=raised.value.partial.path, progress=False)
        assert (resumed.report.status, resumed.report.volumes) == ("complete", whole.report.volumes)
    else:
        assert not (tmp_path / "c.flashscope").exists(), "nothing is written before the plan is complete"


def test_an_unfinished_collection_resumes(files: Path, whole: fs.Collection, tmp_path: Path) -> None:
    bad = files / "20.csv"
    bad.write_text("this is no request\n")
    try:
        with pytest.raises(fs.UsageError, match=r"(?s)20.csv.*finished parts are kept.*`collection\(resume='.*c.flashscope'\)`"):
            fs.collection(files, format="alibaba", output=tmp_path / "c.flashscope")
        partial = fs.open(tmp_path / "c.flashscope")
        assert isinstance(partial, fs.Collection) and partial.report.status == "unfinished"
        with pytest.raises(fs.UsageError, match=r"is unfinished: complete it with `collection\(resume="):
            fs.predict(collection=partial)
        with pytest.warns(fs.Note, match="left out: .*20.csv"):
            skipped = fs.collection(files, format="alibaba", on_bad_file="skip", output=tmp_path / "d.flashscope")
        assert skipped.report.volumes == whole.report.volumes
    finally:
        bad.unlink()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"output": "c"}, "nothing.csv: there is no new file"),
        ({}, "required arguments.*output"),
        ({"output": "c", "format": "mrs"}, "format"),
        ({"output": "c", "on_bad_files": "skip"}, "similar argument exists: 'on_bad_file'"),
    ],
)
def test_errors_are_in_the_words_of_python(
    options: dict[str, str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fs.UsageError, match=f"(?s){says}") as raised:
        fs.collection("nothing.csv", **options)  # type: ignore[arg-type]
    assert "--" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []
