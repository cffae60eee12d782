"""YAML of other people: what is read of it, and that no text raises, costs or means anything else."""

from contextlib import suppress

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from objects.yaml_document import LONGEST, NoDocumentError, read_document

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=10)
"""Without characters that PyYAML itself does not write as it reads them."""
SCALARS = st.none() | st.booleans() | st.integers(-(10**18) + 1, 10**18 - 1) | TEXT
DOCUMENTS = st.dictionaries(
    TEXT,
    st.recursive(SCALARS, lambda parts: st.lists(parts) | st.dictionaries(TEXT, parts), max_leaves=10),
    min_size=1,
)
SYNTAX = st.lists(
    st.sampled_from(
        [
            *("a: ", "- ", "? ", ": ", "\n", "  ", "[", "]", "{", "}", ",", "'", '"', "#", "|\n", ">-\n"),
            *("!!int ", "!!float ", "!!timestamp ", "!!binary ", "!!set ", "!x ", "! ", "&a ", "*a", "<<: "),
            *("---\n", "%TAG ! tag:x,2000:\n", "1:1", "0x_", "0b", "1e400", ".inf", "2026-99-99", "~", "yes"),
            *("\t", "\x85", "\ud800"),
        ]
    ),
    max_size=40,
).map("".join)


@given(st.text() | SYNTAX | st.binary())
@example('a: !!int ""')
@example("a: " + "1:" * 16_000 + "1")
@example("a: " + "9" * 5_000)
@example("a: " + "[" * 30_000)
@example("{" * 30_000)
@example("? " * 16_000)
@example("a: &a [*a, *a]")
@example("\ufeffa: 1")
def test_any_text_is_a_mapping_or_is_refused_by_an_error_of_ours(text: str | bytes) -> None:
    with suppress(NoDocumentError):
        assert isinstance(read_document(text), dict)


@given(DOCUMENTS)
def test_written_document_is_read_as_it_was_meant(document: dict[str, object]) -> None:
    text = yaml.safe_dump(document, allow_unicode=True)
    if len(text.encode()) <= LONGEST:
        assert read_document(text) == document


def test_only_true_false_and_decimal_integers_are_more_than_text() -> None:
    text = "yes, off, 010, 0x1f, 1_000, 1:30, 1.5, 1e3, .inf, 2026-01-01, =, <<"

    assert read_document("a: [true, FALSE, ~, 7, -7, 0]") == {"a": [True, False, None, 7, -7, 0]}
    assert read_document(f"a: [{text}]") == {"a": text.split(", ")}
    assert read_document("a: ['7', \"true\"]") == {"a": ["7", "true"]}
