"""Names of files in pages are checked in this repository, and in a sample."""

import pytest

from tests.conformance.paths import all_missing, missing

THERE = frozenset(
    {"docs/", "docs/cli.md", "detector/", "detector/webhook.py", "detector/state/", "detector/state/state.py"}
)


def test_everything_that_pages_name_is_there() -> None:
    assert not all_missing(), "\n".join(all_missing())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("`detector/state/state.py`, `state/state.py`, `state.py`", id="files"),
        pytest.param("`detector/state/`, `state/`", id="folders"),
        pytest.param("| `state/` | `state.py` keeps it |", id="a row of its folder"),
        pytest.param(
            "[the command](../docs/cli.md#list), [it](cli.md), [ADR](https://there.test/a.md)", id="links"
        ),
        pytest.param("`health/<kind>/`, `v1/Node`, `python -m detector`", id="what is no path"),
    ],
)
def test_name_of_what_is_there_is_accepted(text: str) -> None:
    assert missing("docs/page.md", text, THERE) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("\n`detector/gone.py`", ["2: detector/gone.py"], id="a file"),
        pytest.param("`ate.py`", ["1: ate.py"], id="the end of a name"),
        pytest.param("| `detector/`, `webhook/` | |", ["1: webhook/"], id="a folder"),
        pytest.param("| `state/` | `webhook.py` |", ["1: webhook.py"], id="the row of another folder"),
        pytest.param("[the command](docs/cli.md)", ["1: docs/cli.md"], id="a link"),
    ],
)
def test_name_of_a_missing_file_is_reported_with_its_line(text: str, told: list[str]) -> None:
    assert missing("docs/page.md", text, THERE) == told
