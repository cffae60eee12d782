"""What people wrote reaches no terminal as something that it obeys."""

from typing import Any

import pytest
from pydantic import BaseModel

from cli.failing import say
from cli.terminal import PLAIN_DATA, plain

EVIL = "\x1b[31mred\x1b[0m\r\nnode-9  Held\x07\x7f\x9b2J\u2028end"
SHOWN = " [31mred [0m node-9  Held 2J end"


class Order(BaseModel):
    reason: str
    nested: list[dict[str, str]] = []


def test_control_characters_are_blanks_and_the_rest_stays() -> None:
    assert plain(EVIL) == SHOWN
    assert plain("Grüße… 🙂") == "Grüße… 🙂"


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


def test_what_goes_wrong_is_said_plain(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"no incident of {EVIL}")
    assert capsys.readouterr().err == "paramedic: no incident of [31mred [0m node-9 Held 2J end\n"
