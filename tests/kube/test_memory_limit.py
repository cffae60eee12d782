"""How much memory one cache may take, by the limit of the container and the memory of the machine."""

import os
from pathlib import Path

import pytest

from kube.answer_bounds import MIB, MOST_KEPT, MOST_OBJECTS, CacheRoom, memory_limit, most_kept_by

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("texts", "limit"),
    [
        ([], MACHINE),
        (["max"], MACHINE),
        (["536870912"], 512 * MIB),
        (["536870912\n", "9223372036854771712"], 512 * MIB),
        (["9223372036854771712"], MACHINE),
        (["", "1073741824"], 1024 * MIB),
    ],
)
def test_limit_is_that_of_the_container_or_of_the_machine(
    tmp_path: Path, texts: list[str], limit: int
) -> None:
    files = [tmp_path / str(number) for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    assert memory_limit([*files, tmp_path / "missing"]) == limit


@pytest.mark.parametrize(("limit", "kept"), [(1, MOST_KEPT), (512 * MIB, 128 * MIB), (2048 * MIB, 512 * MIB)])
def test_a_cache_has_a_quarter_of_it_and_never_less_than_that_of_a_workload_cluster(
    limit: int, kept: int
) -> None:
    assert most_kept_by(limit) == kept


def test_100_000_nodes_fit_into_a_gibibyte_and_no_bound_is_lower_than_for_a_workload_cluster() -> None:
    room, least = CacheRoom.of(most_kept_by(1024 * MIB)), CacheRoom()
    assert room.objects >= 100_000
    assert room.received >= 100_000 * 50_000
    for bound in ("objects", "received", "pages", "listed"):
        assert getattr(room, bound) >= getattr(least, bound)
    assert least.objects == MOST_OBJECTS
