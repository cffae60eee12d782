"""Control characters in users' text never reach a terminal."""

import io
import sys
from typing import Any
from unicodedata import category

import pytest
from pydantic import BaseModel

from cli.shared.errors import print_error
from cli.shared.output import PlainText
from cli.shared.terminal import PLAIN_DATA, error_sentence, plain, without_hidden

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
