"""Files with evidence: complete or absent, only with our names, and deleted when old."""

import asyncio
import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from activities.evidence.stores import THREADS, EvidenceDirectory, Filing, label
from health.evidence.document import EvidenceDocument
from health.evidence.retention import Retention
from health.model.evidence import PREFIX
from tests.activities.worker_activities import PLENTY
from tests.support.values.builders import INCIDENT, NOW

DAY = timedelta(days=1)
FILING = Filing(INCIDENT, "run-1", NOW)


def read(path: Path) -> tuple[object, int]:
    """The content and the permissions of the file."""
    return yaml.safe_load(path.read_text()), path.stat().st_mode & 0o777


def names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


async def test_file_is_written_once_whole_or_not_at_all(tmp_path: Path) -> None:
    directory = EvidenceDirectory(tmp_path, PLENTY)
    await directory.save(FILING, EvidenceDocument({"a.yaml": "a: 1\n"}, ()))
    await directory.save(FILING, EvidenceDocument({"a.yaml": "a: 2\n"}, ()))
    path = Path(directory.named(FILING.name))
    assert names(tmp_path) == {path.name}
    assert read(path) == ({"a": 1}, 0o640)

    other = replace(FILING, first_run_id="run-2")
    unwritable = EvidenceDocument(
        {"a.yaml": "\ud800"}, ()
    )  # the write fails in the middle, as on a full disk
    with pytest.raises(UnicodeEncodeError):
        await directory.save(other, unwritable)
    assert names(tmp_path) == {path.name}


async def test_directory_that_hangs_keeps_nothing_of_what_is_given_up(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    os.mkfifo(gone)  # opening it hangs, as on an unreachable network file system
    directory, waits = EvidenceDirectory(tmp_path, PLENTY), EvidenceDocument({"a.yaml": "a: 1\n"}, ())
    hanging = [asyncio.ensure_future(directory.in_a_thread(gone.read_text)) for _ in range(THREADS)]
    await asyncio.sleep(0)  # both begin
    for number in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await directory.save(replace(FILING, first_run_id=f"run-{number}"), waits)

    gone.open("w").close()  # now they return
    await asyncio.gather(*hanging)
    assert names(tmp_path) == {"gone"}, "the write continued after its timeout"
    await directory.save(FILING, waits)
    assert names(tmp_path) == {"gone", Path(directory.named(FILING.name)).name}


async def test_old_files_are_deleted_and_those_of_others_are_not(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for name, age in (
        (f"{PREFIX}a.yaml", 3),
        (f"{PREFIX}b.yaml.1.tmp", 2),
        (f"{PREFIX}c.yaml", 0),
        ("x.yaml", 9),
    ):
        (tmp_path / name).write_text("")
        when = (now - age * DAY).timestamp()
        os.utime(tmp_path / name, (when, when))
    (tmp_path / f"{PREFIX}d.yaml").symlink_to("/etc/passwd")

    await EvidenceDirectory(tmp_path, Retention(100, DAY)).prune(now)

    assert names(tmp_path) == {f"{PREFIX}c.yaml", f"{PREFIX}d.yaml", "x.yaml"}


def test_label_is_one_that_kubernetes_takes_and_of_each_value_another() -> None:
    long = [f"remediation/{'cluster-' * 6}/NodeHealthCheck/workers/node-{number}" for number in range(3)]
    assert label("NodeHealthCheck/workers") == "NodeHealthCheck_workers"
    assert len({label(name) for name in long}) == 3
    for name in long:
        assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])", label(name))
