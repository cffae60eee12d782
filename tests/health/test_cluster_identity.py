"""The uid of the namespace kube-system distinguishes clusters with the same name."""

import pytest
from pydantic import TypeAdapter

from health.cluster.cluster_identity import (
    ANNOTATION,
    MOST_BELIEVED,
    NOT_KNOWN,
    UNREADABLE,
    KnownCluster,
    bounded,
    changed_hold,
    node_digest,
    read_note,
)

pytestmark = pytest.mark.rule("rule 50")

EAST = KnownCluster(owner="cluster-1", uid="uid-1", believed=("12", "34"))


@pytest.mark.parametrize(
    ("before", "owner", "uid", "confirmed", "after"),
    [
        (NOT_KNOWN, "cluster-1", "uid-1", [], KnownCluster(owner="cluster-1", uid="uid-1")),
        (EAST, "cluster-1", "uid-1", [], EAST),
        (EAST, "cluster-1", "uid-2", [], EAST),
        (EAST, "cluster-1", "uid-2", ["uid-3"], EAST),
        (EAST, "cluster-1", "uid-2", ["uid-2"], EAST.model_copy(update={"uid": "uid-2"})),
        # Another Cluster of that name, which has its own cluster.
        (EAST, "cluster-2", "uid-2", [], KnownCluster(owner="cluster-2", uid="uid-2")),
        (UNREADABLE, "cluster-1", "uid-1", [], UNREADABLE),
        (UNREADABLE, "cluster-1", "uid-1", ["uid-1"], KnownCluster(owner="cluster-1", uid="uid-1")),
    ],
)
def test_first_uid_is_believed_and_another_one_only_when_a_person_confirms_it(
    before: KnownCluster, owner: str, uid: str, confirmed: list[str], after: KnownCluster
) -> None:
    assert before.after(owner, uid, confirmed) == after
    assert after.is_one(owner, uid) is (after is not EAST or uid == "uid-1") or not after.is_readable


def test_hold_says_both_uids_and_how_a_person_confirms_the_new_one() -> None:
    message = changed_hold("fleet/east", EAST, "uid-2").message
    assert "kube-system is uid-2, it was uid-1" in message
    assert "paramedic.dev/confirmed-cluster=uid-2" in message
    assert "cannot be read" in changed_hold("fleet/east", UNREADABLE, "uid-2").message


def test_note_that_is_not_there_says_nothing_and_one_that_is_garbage_may_say_anything() -> None:
    assert read_note({}) == {}
    assert read_note({ANNOTATION: "{"}) is None
    assert read_note({ANNOTATION: '{"fleet/east": {"uid": "uid-1"}}'}) == {
        "fleet/east": KnownCluster(uid="uid-1")
    }


def test_note_of_an_earlier_version_which_had_the_number_of_losses_alone_has_no_names() -> None:
    assert read_note({ANNOTATION: '{"fleet/east": {"uid": "uid-1", "lost": 3}}'}) == {
        "fleet/east": KnownCluster(uid="uid-1")
    }


def test_record_of_ten_thousand_losses_fits_on_a_lease_and_keeps_those_of_small_clusters() -> None:
    large, small = (
        tuple(node_digest(f"{one}-{index}") for index in range(number))
        for one, number in (("l", 10_000), ("s", 3))
    )
    records = {
        "fleet/large": KnownCluster(uid="1", believed=large),
        "fleet/small": KnownCluster(uid="2", believed=small),
    }
    kept = bounded(records)
    assert kept["fleet/small"] == records["fleet/small"]
    assert (kept["fleet/large"].uid, len(kept["fleet/large"].believed)) == ("1", MOST_BELIEVED - len(small))
    assert len(TypeAdapter(dict[str, KnownCluster]).dump_json(kept)) < 256 * 1024 / 2
    assert len(set(large)) == len(large)
