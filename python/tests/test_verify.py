"""Verification of drives."""

import sys
from pathlib import Path

import pytest

import flashscope as fs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has drives to verify")


def test_a_file_that_loses_nothing_is_as_acknowledged_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    drive, journal = f"file:{tmp_path}/drive.img?size=8MiB&direct=false", tmp_path / "journal"
    with pytest.warns(fs.Note, match="lies on the same disk"):
        verified = fs.verify(drive, journal=journal, writes=200, progress=False)
    assert (verified.verdict, verified.findings) == ("as_acknowledged", [])
    again = fs.verify(drive, journal=journal, resume=True, progress=False)
    assert again.bytes == verified.bytes
    with (tmp_path / "drive.img").open("r+b") as file:
        file.seek(1 << 20)
        file.write(b"\xff" * 4096)
    damaged = fs.verify(drive, journal=journal, resume=True, progress=False)
    assert damaged.verdict == "damaged"
    assert {(finding.damage, finding.offset_bytes) for finding in damaged.findings} == {("corrupt", 1 << 20)}


def test_errors_are_in_the_words_of_python(tmp_path: Path) -> None:
    for ask, says in [
        (lambda: fs.verify("sim:demo", journal=tmp_path / "j"), "`flashscope attach sim:demo --fuse FOLDER --store FILE`"),
        (lambda: fs.verify(f"file:{tmp_path}/d?size=8MiB"), "required arguments.*journal"),
        (lambda: fs.verify(f"file:{tmp_path}/d", journal=tmp_path / "j", resume=True, destroy_data_on="d"), "cannot be used with"),
    ]:
        with pytest.raises(fs.UsageError, match=f"(?s){says}"):
            ask()
    assert list(tmp_path.iterdir()) == []
