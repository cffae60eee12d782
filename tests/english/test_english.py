"""Hard sentences and short docstrings do not come back: their numbers may only fall."""

from pathlib import Path

import pytest

from tests.english.remaining import allowed, found_now, hard_sentences, risen
from tests.english.sentences import sentences
from tests.english.texts import comments, docstrings, short_docstrings


def test_no_file_has_more_hard_sentences_than_it_had() -> None:
    now, by_file = found_now()
    more = risen(now.hard_sentences, allowed().hard_sentences)
    assert [sentence for path in more for sentence in by_file[path]] == [], (
        "rewrite as many sentences as were added: name the subject, see CONTRIBUTING.md#how-we-write"
    )


def test_no_package_has_more_short_docstrings_than_it_had() -> None:
    now, _ = found_now()
    assert risen(now.short_docstrings, allowed().short_docstrings) == {}, (
        "say units, errors or why, or delete the docstring, see CONTRIBUTING.md#how-we-write"
    )


def test_numbers_that_fell_stay_low() -> None:
    (now, _), before = found_now(), allowed()
    fallen = risen(before.hard_sentences, now.hard_sentences) | risen(
        before.short_docstrings, now.short_docstrings
    )
    assert fallen == {}, "run `make english`, so that these numbers cannot rise again"


@pytest.mark.parametrize(
    "text",
    [
        "Who is refused keeps the rest from beginning.",
        "The status is kept. That it changed is told once.",
        "The Lease that nobody renews runs out.",
        "The detector refuses whoever asks for it.",
        "A check reads its Node, or one that has its name.",
        "A list of checks, of which each names a cluster.",
        "First:\n- the worker acts\n- What it owns goes with it.",
        "1. The worker acts.\n2. Nobody renews the Lease.",
    ],
)
def test_hard_sentence_is_found(text: str) -> None:
    assert len([sentence for sentence in sentences(text) if sentence.is_hard]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Who may read it?",
        "What to do:",
        "The detector emits one Event.",
        "The detector emits one Event:\n| Who is refused | keeps the rest |",
        "The user `nobody` runs the process.",
        "## What the worker does",
        "The detector deletes the one that the worker made.",
        "```\nWho is refused keeps the rest.\n```",
    ],
)
def test_question_label_table_code_and_plain_sentence_are_no_finding(text: str) -> None:
    assert not [sentence for sentence in sentences(text) if sentence.is_hard]


SOURCE = '''"""Says a thing.

Nobody renews the Lease.
"""

LIMIT = 3
"""What it owns goes with it."""
names = ["Nobody renews the Lease."]  # noqa: ABC1  somebody renews the Lease


class One:
    """The first one."""

    # The Lease runs out,
    # because it is told so.
    def two(self) -> None:
        """Return the number of all known checks."""
'''


def test_docstrings_and_comments_are_read_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(SOURCE)
    assert hard_sentences(file, "one.py") == [
        "one.py:3: Nobody renews the Lease.",
        "one.py:7: What it owns goes with it.",
        "one.py:8: somebody renews the Lease",
        "one.py:14: The Lease runs out, because it is told so.",
    ]
    assert len([*docstrings(SOURCE)]) == 4
    assert [comment.line for comment in comments(SOURCE)] == [8, 14]


def test_docstring_of_six_words_is_short_and_one_of_seven_is_not() -> None:
    assert short_docstrings(SOURCE) == 1


def test_number_of_a_file_that_is_not_in_the_table_is_zero() -> None:
    assert risen({"new.py": 1, "old.py": 2, "better.py": 1}, {"old.py": 1, "better.py": 2}) == {
        "new.py": 1,
        "old.py": 2,
    }
