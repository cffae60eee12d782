"""The worst inputs of `python -m bench bounds` are as large as their names say."""

from bench import bounds, upgrade_bounds
from health.upgrade.memory import MOST_ORDERS
from objects.short_text import CUT, LONGEST_TEXT
from objects.yaml_document import LONGEST, MOST_PARTS, read_document

CHECKS = 300


def test_policy_of_many_keys_reaches_the_parser_with_all_of_them() -> None:
    text = bounds.policy_of_many_keys()

    assert len(text.encode()) <= LONGEST
    assert len(read_document(text)) == MOST_PARTS - 1


def test_worst_memory_of_an_upgrade_pause_has_each_check_as_failed_with_the_longest_texts() -> None:
    memory, over = upgrade_bounds.worst_memory(CHECKS)

    assert {len(over.checks), len(memory.handled), len(memory.failed)} == {CHECKS}
    assert len(memory.orders) == MOST_ORDERS
    texts = [*(write.why for write in memory.failed), *(order.reason for order in memory.orders)]
    assert {len(text.encode()) for text in texts} <= set(
        range(LONGEST_TEXT - len(CUT.encode()) - 2, LONGEST_TEXT)
    )
