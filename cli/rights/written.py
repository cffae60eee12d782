"""Written: the files that are made from the table of rights, as they ought to be now."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from cli.rights.manifests import manifests
from cli.rights.page import PAGE, page
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Right
from runtime.rights import (
    everything,
    needs,
    needs_for_etcd,
    needs_for_evidence,
    needs_for_evidence_in_workload_clusters,
    needs_for_requests,
    needs_for_secret,
    needs_for_upgrade_pause,
    needs_in_workload_clusters,
    wishes_for_requests,
)

ROOT = Path(__file__).parents[2]
TEMPLATES = "…remediationtemplates"


def written() -> Mapping[str, str]:
    """The text of each file, by its path in the repository."""
    ours = list(of_installations())
    return {**manifests(ours), PAGE: page((ROOT / PAGE).read_text(), [*ours, *of_others()])}


def of_installations() -> Iterator[Right]:
    """The rights that roles of ours grant, and all of them: nothing else is written into these."""
    yield from needs(everything())
    yield from needs_for_upgrade_pause()
    yield from needs_for_etcd()
    yield from needs_for_evidence(everything())


def of_others() -> Iterator[Right]:
    """The rights on what has its name from somebody else, who grants them."""
    yield from needs_for_requests("", TEMPLATES, "…remediations")
    yield from wishes_for_requests("", TEMPLATES)
    for kind in CHECK_KINDS.values():
        if kind.kubeconfig_part is not None:
            yield from needs_for_secret(kind.kubeconfig_part, "of the Cluster", "<cluster>-kubeconfig")
    yield from needs_in_workload_clusters()
    yield from needs_for_evidence_in_workload_clusters()
