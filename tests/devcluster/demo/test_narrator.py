import io
import re
from datetime import timedelta
from functools import partial

import pytest
from rich.console import Console

from devcluster.demo.narrator import Narrator
from devcluster.errors import DemoFailedError
from kube.errors import Unreachable


def narrator() -> tuple[Narrator, io.StringIO]:
    written = io.StringIO()
    return Narrator(Console(file=written, width=20)), written


class Kettle:
    """Boils at the third look; the first one fails."""

    def __init__(self) -> None:
        self._looks = 0

    async def tea(self) -> str | None:
        self._looks += 1
        if self._looks == 1:
            raise Unreachable("the kettle does not answer")
        return "tea" if self._looks > 2 else None


async def never() -> str | None:
    return None


async def test_wait_and_its_end_are_plain_lines_where_there_is_no_terminal() -> None:
    tells, written = narrator()
    is_tea = await tells.wait(
        "The kettle is on.", Kettle().tea, lambda tea: f"There is {tea}.", failure="There was no tea"
    )
    assert is_tea == "tea"
    announced, told = written.getvalue().splitlines()
    assert re.fullmatch(r" +\d\.\d s  • The kettle is on\.", announced)
    assert re.fullmatch(r" +\d\.\d s  ✔ There is tea\.", told)


async def test_wait_that_takes_too_long_fails_in_one_sentence_and_with_advice_if_there_is_any() -> None:
    tells, written = narrator()
    impatient = partial(
        tells.wait, "The kettle is on.", never, str, failure="There was no tea", within=timedelta()
    )
    with pytest.raises(DemoFailedError, match=r"^There was no tea within 0 s\.$"):
        await impatient()
    with pytest.raises(DemoFailedError, match=r"^There was no tea within 0 s\. Buy some\.$"):
        await impatient(advice="Buy some.")
    assert "✔" not in written.getvalue()


async def test_line_to_copy_is_not_broken_whatever_the_width() -> None:
    tells, written = narrator()
    command = "kubectl --kubeconfig /a/long/path/to/a/kubeconfig get nodes"
    tells.show("Look", command)
    assert command in written.getvalue()


async def test_words_in_brackets_are_not_taken_for_markup() -> None:
    tells, written = narrator()
    tells.remark("worker [bold] ended")
    assert "worker [bold] ended" in written.getvalue()
