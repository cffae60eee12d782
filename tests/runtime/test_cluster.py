"""A cluster's identity tells it from all others, also from those of the same name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from objects.clusters import cluster_identity, is_of
from runtime.settings import LONGEST_CLUSTER

LONGEST_LABEL = 63


def test_identity_is_the_name_and_eight_characters_of_the_uid() -> None:
    assert cluster_identity("prod", "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9") == "prod-1a2b3c4d"


def test_uids_that_begin_with_the_same_four_characters_are_two_clusters() -> None:
    one = cluster_identity("prod", "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9")
    assert one != cluster_identity("prod", "1a2b9f00-5e6f-4071-8293-a4b5c6d7e8f9")


def test_uid_is_that_of_a_cluster_whose_name_ends_with_its_beginning() -> None:
    uid = "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9"
    assert is_of("a-prod-1a2b3c4d", uid)
    assert not is_of("a-prod-1a2b3c4e", uid)
    assert not is_of("prod", "")


@pytest.mark.parametrize(
    "uid", ["cluster-0001", "a/b c", "Ünïcode", "1A2B3C4D-5E6F-4071-8293-A4B5C6D7E8F9", "1", "x" * 999]
)
def test_uid_that_is_no_uuid_is_reported_by_its_hash(uid: str) -> None:
    assert re.fullmatch("prod-[0-9a-f]{8}", cluster_identity("prod", uid))
    assert cluster_identity("prod", uid) != cluster_identity("prod", f"{uid}2")


@given(st.one_of(st.uuids().map(str), st.text()))
def test_name_stands_before_the_last_dash_and_the_whole_fits_a_label(uid: str) -> None:
    name = "a-" * (LONGEST_CLUSTER // 2 - 1) + "ab"
    identity = cluster_identity(name, uid)
    assert identity.rpartition("-")[0] == name
    assert len(identity) <= LONGEST_LABEL
