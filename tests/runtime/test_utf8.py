import os

import pytest

from runtime.temporal import in_utf8


@pytest.mark.parametrize("text", ["", "node-1", "Grüße… 🙂"])
def test_text_is_itself_whatever_locale_it_was_read_in(text: str) -> None:
    assert in_utf8(text) == text
    assert in_utf8(text.encode().decode("ascii", "surrogateescape")) == text


def test_bytes_that_are_none_are_refused() -> None:
    with pytest.raises(UnicodeError):
        in_utf8(os.fsdecode(b"caf\xe9"))
