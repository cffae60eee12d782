"""The stand-in CRDs of Cluster API can be left out, for those of Cluster API itself."""

import yaml

from devcluster.manifests import CLUSTER_API_CRDS, files


def groups(*without: str) -> set[str]:
    """The groups of the CRDs that are applied."""
    left_out = [CLUSTER_API_CRDS] if without else []
    bodies = (body for file in files(left_out) for body in yaml.safe_load_all(file.read_text()))
    return {body["spec"]["group"] for body in bodies if body and body["kind"] == "CustomResourceDefinition"}


def test_no_crd_of_cluster_api_is_left_and_all_others_are() -> None:
    everything, rest = groups(), groups("cluster-api-crds")
    left_out = {group for group in everything if group.endswith("cluster.x-k8s.io")}
    assert {"cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"} <= left_out
    assert rest == everything - left_out
