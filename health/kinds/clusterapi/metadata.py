"""What the metadata of a MachineHealthCheck is to say: to which Cluster it belongs (CAPI B.1).

By the label, which selects everything of a Cluster, and by an owner reference, with which the check goes when
the Cluster does. Owners and labels of others stay as they are.
"""

from collections.abc import Mapping
from typing import Any

from health.kinds.clusterapi.cluster import KIND as CLUSTER
from health.kinds.clusterapi.cluster import Cluster
from health.kinds.clusterapi.group import CLUSTER_NAME, GROUP
from health.model.stored_status import entries, word


def metadata_patch(metadata: Mapping[str, Any], api_version: str, cluster: Cluster) -> dict[str, Any]:
    """The part of a merge patch that makes the raw `metadata` of a check say so; empty if it does."""
    patch: dict[str, Any] = {}
    labels = metadata.get("labels")
    if not isinstance(labels, Mapping) or labels.get(CLUSTER_NAME) != cluster.metadata.name:
        patch["labels"] = {CLUSTER_NAME: cluster.metadata.name}
    owners = entries(metadata, "ownerReferences")
    if not any(_is_owner(one) and word(one, "uid") == cluster.metadata.uid for one in owners):
        # One of an earlier Cluster of that name would have the check collected.
        others = [one for one in owners if not _is_of_same_name(one, cluster)]
        patch["ownerReferences"] = [*others, _owner(api_version, cluster)]
    return patch


def _is_owner(reference: Mapping[str, Any]) -> bool:
    """In whatever version the reference was written."""
    group = word(reference, "apiVersion").partition("/")[0]
    return (group, word(reference, "kind")) == (GROUP, CLUSTER)


def _is_of_same_name(reference: Mapping[str, Any], cluster: Cluster) -> bool:
    return _is_owner(reference) and word(reference, "name") == cluster.metadata.name


def _owner(api_version: str, cluster: Cluster) -> dict[str, str]:
    named = cluster.metadata
    return {"apiVersion": api_version, "kind": CLUSTER, "name": named.name, "uid": named.uid}
