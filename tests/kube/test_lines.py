from collections.abc import AsyncIterator

import pytest

from kube.errors import TooLarge, Unreachable
from kube.transport import complete_lines


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _cut(*pieces: bytes) -> list[bytes]:
    return [line async for line in complete_lines(_pieces(*pieces), "GET /x", "/x")]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([b"a\n"], [b"a"], id="one line"),
        pytest.param([b"a\nb\nc\n"], [b"a", b"b", b"c"], id="several lines in one piece"),
        pytest.param([b"a", b"b", b"\n"], [b"ab"], id="one line in several pieces"),
        pytest.param([b"a\nb", b"c\nd\n"], [b"a", b"bc", b"d"], id="pieces that cross lines"),
        pytest.param([b"\n\na\n\n"], [b"a"], id="empty lines"),
        pytest.param([b"x" * 65536] * 24 + [b"\n"], [b"x" * 65536 * 24], id="a line of 1.5 MB"),
    ],
)
async def test_stream_is_cut_at_its_newlines(pieces: list[bytes], expected: list[bytes]) -> None:
    assert await _cut(*pieces) == expected


async def test_line_that_was_cut_by_the_end_is_reported_and_not_delivered() -> None:
    stream = complete_lines(_pieces(b"a\nb"), "GET /x", "/x")

    assert await anext(stream) == b"a"
    with pytest.raises(Unreachable, match="in the middle of a line"):
        await anext(stream)


async def _endless() -> AsyncIterator[bytes]:
    yield b"a\n"
    while True:
        yield b"x" * 65536


async def test_line_without_an_end_is_given_up() -> None:
    stream = complete_lines(_endless(), "GET /x", "/x")

    assert await anext(stream) == b"a"
    with pytest.raises(TooLarge, match=r"^GET /x was answered with a line of over 1638400 bytes\.$"):
        await anext(stream)


async def test_many_lines_are_no_long_one() -> None:
    line = b"x" * 65535 + b"\n"
    assert len(await _cut(*[line] * 256)) == 256
