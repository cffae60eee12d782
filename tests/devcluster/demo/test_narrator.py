import asyncio
import io
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from rich.console import Console

from devcluster.demo.narrator import Line, Narrator
from devcluster.errors import DemoFailedError

LINE: Line[str] = Line(
    before="The kettle is on.",
    after=lambda tea: f"There is {tea}.",
    failure="There was no tea",
    within=timedelta(seconds=30),
)


def narrator() -> tuple[Narrator, io.StringIO]:
    written = io.StringIO()
    return Narrator(Console(file=written, width=20)), written


async def tea() -> str:
    return "tea"


def never() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()


async def test_wait_and_its_end_are_plain_lines_where_there_is_no_terminal() -> None:
    tells, written = narrator()
    assert await tells.narrate(LINE, tea()) == "tea"
    announced, told = written.getvalue().splitlines()
    assert re.fullmatch(r" +\d\.\d s  • The kettle is on\.", announced)
    assert re.fullmatch(r" +\d\.\d s  ✔ There is tea\.", told)


async def test_wait_that_takes_too_long_fails_in_one_sentence_and_with_advice_if_there_is_any() -> None:
    tells, written = narrator()
    impatient = replace(LINE, within=timedelta())
    with pytest.raises(DemoFailedError, match=r"^There was no tea within 0 s\.$"):
        await tells.narrate(impatient, never())
    assert "There is" not in written.getvalue()
    with pytest.raises(DemoFailedError, match=r"^There was no tea within 0 s\. Buy some\.$"):
        await tells.narrate(replace(impatient, advice="Buy some."), never())


async def test_line_to_copy_is_not_broken_whatever_the_width() -> None:
    tells, written = narrator()
    command = "kubectl --kubeconfig /a/long/path/to/a/kubeconfig get nodes"
    tells.show("Look", command)
    assert command in written.getvalue()


async def test_words_in_brackets_are_not_taken_for_markup() -> None:
    tells, written = narrator()
    tells.remark("worker [bold] ended")
    assert "worker [bold] ended" in written.getvalue()
