"""Large answers are decoded in a thread, without garbage collections."""

import gc

import pytest

from kube.decoding_thread import SMALL, decoded
from kube.errors import Malformed


async def test_no_garbage_is_collected_while_a_large_answer_is_decoded() -> None:
    def decode(_: bytes) -> bool:
        return gc.isenabled()

    assert gc.isenabled()
    assert await decoded(decode, b" " * (SMALL + 1)) is False
    assert gc.isenabled()


async def test_garbage_is_collected_after_an_answer_that_does_not_decode() -> None:
    def decode(_: bytes) -> None:
        raise Malformed("no answer")

    with pytest.raises(Malformed, match="no answer"):
        await decoded(decode, b" " * (SMALL + 1))
    assert gc.isenabled()
