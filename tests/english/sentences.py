"""Finds hard sentences by their patterns: a heuristic for rule 3 of CONTRIBUTING.md, "How we write".

A hard sentence has a relative clause as its subject, or a pronoun instead of a name.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_CLAUSES = "Who|Whoever|What|Whatever|That|Whether|Of (?:what|whom|which)|But for|Nobody|One (?:that|who)"
CLAUSE_AS_SUBJECT = re.compile(rf"(?:{_CLAUSES})\b(?!'s)")
WITHOUT_A_NAME = re.compile(
    r"\b(?:(?:is|are|was|were|be|been) told|tells? (?:of|nobody|nothing)|(?:no|some|any|every)body"
    r"|who(?:m)?ever|(?<!the )ones? (?:that|who)|of (?:which|whom))\b",
    re.IGNORECASE,
)
NO_PROSE = re.compile(r"^ *```.*?^ *```$|^ *\|[^\n]*$|^#[^\n]*$", re.MULTILINE | re.DOTALL)
"""Code blocks, rows of tables, and headings."""
CODE = re.compile(r"`[^`\n]*`")
BLOCK = re.compile(r"(?:[^\n]|\n(?!\s*(?:\n|$|[-*] |\d+\. )))+")
"""A paragraph, or an item of a list."""
SENTENCE = re.compile(r"(?:(?:[-*]|\d+\.) )?(.+?)(?:(?<=[.;])\s+(?=[A-Z])|$)")
FEWEST_WORDS = 4
"""Fewer words are a label."""


class Sentence(NamedTuple):
    """A sentence in one line, and the line at which its paragraph starts, counted from 0."""

    line: int
    text: str
    without_code: str

    @property
    def is_hard(self) -> bool:
        """True if the sentence matches a pattern; a question may start with a relative pronoun."""
        words = self.without_code
        is_inverted = CLAUSE_AS_SUBJECT.match(words) and not words.endswith("?")
        return len(words.split()) >= FEWEST_WORDS and bool(is_inverted or WITHOUT_A_NAME.search(words))


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a docstring, a comment or a page, except code blocks and tables."""
    text = NO_PROSE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for block in BLOCK.finditer(text):
        lead = len(block[0]) - len(block[0].lstrip())
        line = text.count("\n", 0, block.start() + lead)
        prose = " ".join(block[0].split())
        without_code = CODE.sub(lambda found: re.sub(r"\S", "`", found[0]), prose)
        for found in SENTENCE.finditer(without_code):
            yield Sentence(line, prose[slice(*found.span(1))], found[1])
