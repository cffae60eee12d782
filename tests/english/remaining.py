"""Texts that remain to be rewritten: hard sentences by file, and short docstrings by package.

`remaining.json` has these numbers. They may only fall, and a file that is not in it has no hard sentence.
"""

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from devcluster.manifests import ROOT
from tests.english.sentences import sentences
from tests.english.texts import files, short_docstrings, texts

PATH = Path(__file__).with_name("remaining.json")


class Remaining(NamedTuple):
    """The numbers above zero."""

    hard_sentences: Mapping[str, int]
    short_docstrings: Mapping[str, int]


def allowed() -> Remaining:
    """The numbers of the file."""
    return Remaining(**json.loads(PATH.read_text()))


@cache
def found_now(root: Path = ROOT) -> tuple[Remaining, Mapping[str, list[str]]]:
    """The numbers of the repository, and by file its hard sentences, each as `path:line: sentence`."""
    hard: dict[str, list[str]] = {}
    short: Counter[str] = Counter()
    for file in files(root):
        path = file.relative_to(root).as_posix()
        if here := hard_sentences(file, path):
            hard[path] = here
        if file.suffix == ".py":
            short[path.partition("/")[0]] += short_docstrings(file.read_text())
    numbers = {path: len(here) for path, here in hard.items()}
    return Remaining(numbers, {package: number for package, number in short.items() if number}), hard


def hard_sentences(file: Path, path: str) -> list[str]:
    """The hard sentences of a file, each as `path:line: sentence`."""
    every = (
        (text.line + sentence.line, sentence) for text in texts(file) for sentence in sentences(text.text)
    )
    return [f"{path}:{line}: {one.text}" for line, one in sorted(every) if one.is_hard]


def risen(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """The numbers that are higher than before."""
    return {name: number for name, number in now.items() if number > before.get(name, 0)}


def write(numbers: Remaining, path: Path = PATH) -> None:
    """Make these numbers the allowed ones."""
    path.write_text(json.dumps(numbers._asdict(), indent=2, sort_keys=True) + "\n")
