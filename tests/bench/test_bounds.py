"""The worst inputs of `python -m bench bounds` are as large as their names say."""

from bench import bounds
from objects.yaml_document import LONGEST, MOST_PARTS, read_document


def test_policy_of_many_keys_reaches_the_parser_with_all_of_them() -> None:
    text = bounds.policy_of_many_keys()

    assert len(text.encode()) <= LONGEST
    assert len(read_document(text)) == MOST_PARTS - 1
