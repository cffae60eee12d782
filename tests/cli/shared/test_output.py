"""Output: ages, control characters of users, and a failed write, which stops no work."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from unicodedata import category

import pytest
from pydantic import BaseModel

from cli.shared.ages import beside_time, short, with_short_times
from cli.shared.errors import print_error
from cli.shared.output import PlainText, Written, in_foreground
from cli.shared.terminal import PLAIN_DATA, error_sentence, plain, without_hidden


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


EVIL = "\x1b[31mred\x1b[0m\r\nnode-9  Held\x07\x7f\x9b2J\u2028end"
HIDDEN = {"Cc", "Cf", "Zl", "Zp"}
SHOWN = " [31mred [0m node-9  Held 2J end"


class Order(BaseModel):
    reason: str
    nested: list[dict[str, str]] = []


def test_control_characters_are_blanks_and_the_rest_stays() -> None:
    assert plain(EVIL) == SHOWN
    assert plain("Grüße… 🙂") == "Grüße… 🙂"


SPOOFED = {
    "node-1\u202e4-edon": "node-1 4-edon",
    "node\u200b-1": "node -1",
    "\u2066a\u2069\u200f": " a ",
    "\ufeffa\u00ad\u2060b": " a b",
    "a\U000e0041b\ufe0f": "a b ",
    "a\u061cb\u180ec\u3164d": "a b c d",
}


@pytest.mark.parametrize(("written", "shown"), SPOOFED.items(), ids=ascii)
def test_characters_that_hide_or_turn_words_are_blanks(written: str, shown: str) -> None:
    assert plain(written) == shown
    assert without_hidden(f"\x1b[1m{written}\t\n") == f"\x1b[1m{shown}\t\n"


def test_each_control_and_format_character_of_unicode_is_a_blank() -> None:
    hidden = [chr(point) for point in range(sys.maxunicode + 1) if category(chr(point)) in HIDDEN]
    assert len(hidden) > 200
    assert [f"U+{ord(character):X}" for character in hidden if plain(character) != " "] == []
    ours = {"\n", "\t", "\r", "\x1b"}
    assert all(without_hidden(text) == text for text in ours)


def test_stream_writes_nothing_that_is_hidden() -> None:
    written = io.BytesIO()
    stream = PlainText(written, "utf-8")
    print("\x1b[1mnode\u200b-1\u202e\x1b[0m", file=stream, flush=True)
    assert written.getvalue() == b"\x1b[1mnode -1 \x1b[0m\n"


def test_error_of_a_worker_is_said_plain() -> None:
    assert not set(error_sentence(RuntimeError(f"{EVIL}\u202e"))) & set("\x1b\r\n\x07\x9b\u202e")


@pytest.mark.parametrize("hint", [Order, None])
async def test_all_texts_that_temporal_keeps_are_read_plain(hint: type | None) -> None:
    kept = await PLAIN_DATA.encode([Order(reason=EVIL, nested=[{"a": EVIL}])])
    (read,) = await PLAIN_DATA.decode(kept, [hint] if hint else None)
    told: dict[str, Any] = read.model_dump() if isinstance(read, Order) else read
    assert told == {"reason": SHOWN, "nested": [{"a": SHOWN}]}
    assert b"\\u001b" in kept[0].data  # what is sent stays as it was written


def test_summary_of_a_timer_is_read_plain() -> None:
    converter = PLAIN_DATA.payload_converter
    assert converter.from_payload(converter.to_payload(EVIL), str) == SHOWN


def test_error_is_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(f"no incident of {EVIL}")
    assert capsys.readouterr().err == "paramedic: no incident of [31mred [0m node-9 Held 2J end\n"


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(), "0s"),
        (timedelta(seconds=-5), "0s"),
        (timedelta(seconds=9.9), "9s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(minutes=4, seconds=59), "4m59s"),
        (timedelta(hours=1, seconds=3), "1h"),
        (timedelta(hours=1, minutes=5, seconds=3), "1h5m"),
        (timedelta(days=3, hours=4, minutes=5), "3d4h"),
        (timedelta(days=400), "400d"),
    ],
)
def test_age_has_its_two_greatest_units(duration: timedelta, words: str) -> None:
    assert short(duration) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ready is Unknown since 2026-03-01T12:00:00Z, waiting for 5s", "Ready is Unknown, waiting for 5s"),
        ("waits for approval: reboot, asked at 2026-03-01T12:00:00Z; x", "waits for approval: reboot; x"),
        ("is rejected at 2026-03-01T12:00:00Z, by ada", "is rejected, by ada"),
        ("Ready is Unknown since 2026-03-01T11:59:59Z", "Ready is Unknown since 11:59:59Z"),
        ("2026-03-01T12:00:00Z", "12:00:00Z"),
        ("until 2026-03-01T12:00:00Z", "until 12:00:00Z"),
        ("since 2026-02-28T12:00:00Z", "since 2026-02-28T12:00:00Z"),
        ("since 2026-03-01T12:00:00.5Z", "since 2026-03-01T12:00:00.5Z"),
        ("kernel of 2026-03-01", "kernel of 2026-03-01"),
    ],
)
def test_text_beside_a_time_repeats_neither_the_time_nor_its_day(text: str, expected: str) -> None:
    assert beside_time(text, datetime(2026, 3, 1, 12, tzinfo=UTC)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("approval until 2026-03-01T12:00:01Z (then x)", "approval until 12:00Z (then x)"),
        ("held since 2026-02-28T12:00:00Z", "held since 02-28 12:00Z"),
        ("annotate it with a/b=2026-03-01T12:00:00Z", "annotate it with a/b=2026-03-01T12:00:00Z"),
        ("kernel of 2026-03-01", "kernel of 2026-03-01"),
    ],
)
def test_narrow_column_shows_the_time_of_today_without_the_day(text: str, expected: str) -> None:
    assert with_short_times(text, datetime(2026, 3, 1, 12, tzinfo=UTC)) == expected
