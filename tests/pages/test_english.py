"""Pages are in plain English: the sentences that readers had to read twice do not come back.

The patterns are a heuristic. CONTRIBUTING.md, "How we write", has the rules.
"""

import re
from collections.abc import Iterator

import pytest

from tests.conformance.paths import pages

RELATIVES = "Who|Whoever|What|Whatever|That|Whether|Of what|Of whom|Of which|But for|Nobody|One that|One who"
CLAUSE_AS_SUBJECT = re.compile(rf"^(?:{RELATIVES})\b(?!'s)")
WITHOUT_A_NAME = re.compile(
    r"\b(?:is|are|was|were|be|been) told\b|\btells? (?:of|nobody|nothing)\b|\b(?:no|some)body\b"
)
BETWEEN_SENTENCES = re.compile(r"(?<=[.;])\s+(?=[A-Z])")
NO_PROSE = ("|", "```")
SHORTEST = 4
"""In words: less is a heading or a label."""


def sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.lstrip().startswith(NO_PROSE):
            for sentence in BETWEEN_SENTENCES.split(" ".join(paragraph.split())):
                yield sentence.strip("-* ")


def is_hard(sentence: str) -> bool:
    """A question may start with such a word."""
    inverted = CLAUSE_AS_SUBJECT.match(sentence) and not sentence.endswith("?")
    return len(sentence.split()) >= SHORTEST and bool(inverted or WITHOUT_A_NAME.search(sentence))


def test_no_sentence_of_a_page_has_a_clause_or_nobody_as_its_subject() -> None:
    found = [f"{path}: {it}" for path, text in pages() for it in sentences(text) if is_hard(it)]
    assert found == [], "name the subject, see CONTRIBUTING.md#how-we-write"


@pytest.mark.parametrize(
    "text",
    [
        "Who is refused keeps the rest from beginning.",
        "The status is kept. That it changed is told once.",
        "The Lease that nobody renews runs out.",
    ],
)
def test_clause_as_subject_is_found(text: str) -> None:
    assert any(is_hard(sentence) for sentence in sentences(text))


@pytest.mark.parametrize(
    "text",
    [
        "Who may read it?",
        "What to do:",
        "The detector emits one Event.",
        "| Who is refused | keeps the rest |",
    ],
)
def test_question_label_table_and_plain_sentence_are_no_finding(text: str) -> None:
    assert not any(is_hard(sentence) for sentence in sentences(text))
