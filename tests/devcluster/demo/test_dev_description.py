import os
from pathlib import Path

import pytest

from devcluster.demo.dev_description import DevDescription, read

DEV = DevDescription(
    kubeconfig=Path("kubeconfig"),
    temporal_address="127.0.0.1:7233",
    temporal_namespace="paramedic",
    temporal_ui="http://127.0.0.1:8233",
    cluster="dev-1a2b3c4d",
    pids={"worker": 7},
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "dev.json"
    file.write_text(DEV.model_dump_json().replace('"cluster"', '"audit_log": "a", "cluster"'))
    os.utime(file, (1000, 1000))
    return file


def test_description_is_read_with_more_in_it_than_the_demo_needs(file: Path) -> None:
    assert read(file) == DEV


def test_description_that_is_not_there_yet_is_none(tmp_path: Path) -> None:
    assert read(tmp_path / "dev.json") is None


def test_description_that_an_earlier_process_left_is_none(file: Path) -> None:
    assert read(file, since=999) == DEV
    assert read(file, since=1001) is None
