"""Names of code in the pages for contributors: each is a word of the code."""

import re
from functools import cache

import pytest

from devcluster.manifests import ROOT
from tests.conformance.citations import texts

NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\w*\))?`")
FILE = re.compile(r".*\.(?:json|md|py|toml|yaml)")


@cache
def words() -> frozenset[str]:
    """The words of all code, read by a test: each process of a run imports this file."""
    code = (text for path, text in texts() if not path.endswith(".md"))
    return frozenset(word for text in code for word in re.findall(r"\w+", text))


def unknown(page: str) -> list[str]:
    """Names of which a part is neither a word of the code nor the beginning of one, as `paramedic_` is."""
    names = sorted({name for name in NAME.findall(page) if not FILE.fullmatch(name)})
    return [name for name in names if not all(map(_is_known, name.split(".")))]


def _is_known(part: str) -> bool:
    return part in words() or (part.endswith("_") and any(word.startswith(part) for word in words()))


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_each_name_of_code_in_the_page_exists(page: str) -> None:
    assert unknown((ROOT / page).read_text()) == []


def test_name_that_the_code_does_not_have_is_found() -> None:
    misspelt = "Settings".replace("tt", "ttt")  # written out it would be a word of the code
    page = f"`Settings`, `Settings.log_level`, `settings.py`, `paramedic_`, `{misspelt}`"
    assert unknown(page) == [misspelt]
