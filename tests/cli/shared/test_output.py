"""A failed write to the output stops no work, and is reported at the end."""

import io
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cli.shared.output import Written, in_foreground


@pytest.fixture
def unheard() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    with suppress(OSError):
        os.close(writer)


def test_write_that_fails_is_remembered_and_the_rest_goes_nowhere(unheard: int) -> None:
    written = Written(unheard)
    stream = io.TextIOWrapper(io.BufferedWriter(written))
    for _ in range(3):
        print("an order was given", file=stream, flush=True)
    assert isinstance(written.trouble, BrokenPipeError)


def test_command_that_runs_until_a_user_ends_it_fails_at_once(
    unheard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BufferedWriter(Written(unheard)))
    monkeypatch.setattr("sys.stdout", stream)

    @in_foreground
    def serve() -> None:
        print("ready", file=stream, flush=True)

    with pytest.raises(BrokenPipeError):
        serve()
    print("the end", file=stream, flush=True)  # cleaning up is not stopped by it


def test_disk_that_is_full_is_no_reader_that_went_away() -> None:
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123  its number is wanted
        written = Written(full.fileno())
        written.write(b"{}")
    assert written.trouble is not None
    assert written.trouble.strerror == "No space left on device"


def test_usual_output_is_written_as_ever(capfd: pytest.CaptureFixture[str]) -> None:
    with io.TextIOWrapper(io.BufferedWriter(Written(1)), "ascii", "replace") as stream:
        print("held… by a person", file=stream)
    assert capfd.readouterr().out == "held? by a person\n"
    os.fstat(1)  # it stays open
