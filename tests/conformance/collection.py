"""A marker that names no rule ends the collection of its file: a typing error must not pass for a proof."""

from collections.abc import Generator

import pytest

from tests.conformance.register import complaint


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, object, object]:
    """Look at the markers of each test as it is collected."""
    made = yield
    for item in made if isinstance(made, list) else [made]:
        if isinstance(item, pytest.Item):
            _check(collector, item)
    return made


def _check(collector: pytest.Collector, item: pytest.Item) -> None:
    for marker in item.iter_markers("rule"):
        for rule_id in marker.args:
            why = complaint(rule_id)
            if why:
                raise collector.CollectError(f"{item.nodeid}: {why}")
