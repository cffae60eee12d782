"""The rights of our processes: the rules of the roles in `deploy/`, with the reason of each beside it.

`paramedic doctor` compares a cluster with them, and tests compare them with the requests of our processes.
This module says which files an installation needs, and has the rights on objects that a user names.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import yaml

from health.cluster.upgrade import UpgradeSignal
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from kube.client import Client
from kube.resource import Resource
from runtime.process_names import NAMESPACE, SERVICE_ACCOUNTS
from runtime.settings import LEASE_NAMESPACE, Settings

ROOT = Path(__file__).parents[1]
"""The checkout, or the folder of the packages in an environment, which has the roles too."""
WATCH = ("list", "watch")
BASE = ("deploy/base/rbac/detector.yaml", "deploy/base/rbac/worker.yaml")
"""The roles that are always needed."""
ETCD = "deploy/components/openshift/worker-etcd.yaml"
"""Additional rights of the worker on OpenShift, whatever kinds are handled."""
EVIDENCE = "deploy/components/evidence/rights.yaml"
IN_WORKLOAD_CLUSTERS = "deploy/workload-cluster/nodes.yaml"
"""For the identity in the kubeconfig of a workload cluster, which both processes use."""
EVIDENCE_IN_WORKLOAD_CLUSTERS = "deploy/workload-cluster/evidence.yaml"
SIGNALS = "a ClusterRole as in docs/holds.md#other-signals-of-an-upgrade"
REMEDIATOR = "a ClusterRole of the remediator, labelled rbac.ext-remediation/aggregate-to-ext-remediation"
_API = "authorization.k8s.io/v1"
SELF_REVIEWS = Resource(_API, "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False)
_REVIEWS = Resource(_API, "SubjectAccessReview", "subjectaccessreviews", namespaced=False)
_PROCESSES = {account: process for process, account in SERVICE_ACCOUNTS.items()}


@cache
def granted_by(file: str) -> tuple[Right, ...]:
    """The rights that the roles of a file in `deploy/` grant to our processes, or to both by one identity."""
    documents = [*yaml.load_all((ROOT / file).read_text(), yaml.CSafeLoader)]
    found: list[Right] = []
    for binding in documents:
        if "roleRef" not in binding:
            continue
        role = binding["roleRef"]
        accounts = {subject["name"] for subject in binding["subjects"]} & _PROCESSES.keys()
        processes = [_PROCESSES[account] for account in sorted(accounts)] or [*Process]
        for document in documents:
            if (document["kind"], document["metadata"]["name"]) != (role["kind"], role["name"]):
                continue
            namespace = document["metadata"].get("namespace")
            if namespace != binding["metadata"].get("namespace"):
                continue
            for process, rule in product(processes, document["rules"]):
                names = rule.get("resourceNames", [None])
                found += [
                    Right(
                        process=process,
                        group=group,
                        resource=resource,
                        verbs=tuple(rule["verbs"]),
                        namespace=namespace,
                        name=name,
                        granted_by=file,
                    )
                    for group, resource, name in product(rule["apiGroups"], rule["resources"], names)
                ]
    return tuple(found)


def in_namespaces(rights: Iterable[Right], settings: Settings) -> Iterator[Right]:
    """The same in the namespaces of these settings; the files have the default ones."""
    names = {NAMESPACE: settings.namespace, LEASE_NAMESPACE: settings.lease_namespace}
    for right in rights:
        namespace, name = right.namespace, right.name
        if namespace is not None:
            namespace = names.get(namespace, namespace)
        if name is not None and right.resource == "namespaces":
            name = names.get(name, name)
        yield replace(right, namespace=namespace, name=name)


def needs(settings: Settings) -> Iterator[Right]:
    """All rights that our processes need with these settings, independent of the cluster."""
    files = [*BASE]
    for kind in settings.check_kinds:
        files += kind.roles
        files += kind.confirmation_roles if settings.confirmations == "remove" else ()
        files += kind.webhook_roles if settings.webhook_address else ()
    yield from in_namespaces(_of(files), settings)


def _of(files: Iterable[str]) -> Iterator[Right]:
    for file in dict.fromkeys(files):
        yield from granted_by(file)


def needs_for_upgrade_pause() -> Iterator[Right]:
    """The rights to pause checks for upgrades, if upgrades are signalled and no setting turns it off."""
    for kind in CHECK_KINDS.values():
        yield from _of(kind.upgrade_pause_roles)


def signals_upgrades_here(settings: Settings) -> tuple[UpgradeSignal, ...]:
    """The signals of upgrades of the cluster in which the checks are."""
    of_others = {signal for kind in CHECK_KINDS.values() for signal in kind.upgrade_signals}
    return tuple(signal for signal in settings.upgrade_signals if signal not in of_others)


def needs_for_evidence(settings: Settings) -> Iterator[Right]:
    """The rights to save evidence in this cluster, as ConfigMaps."""
    yield from in_namespaces(granted_by(EVIDENCE), settings)


def needs_for_signal(group: str, plural: str) -> Iterator[Right]:
    """The rights to watch a kind whose conditions signal an upgrade."""
    process = Process.DETECTOR
    yield Right(process=process, group=group, resource=plural, verbs=WATCH, granted_by=SIGNALS)


def needs_for_requests(group: str, templates: str, requests: str) -> Iterator[Right]:
    """The rights on the templates and requests of one remediator, by their plurals."""
    for process, resource, verbs in (
        (Process.DETECTOR, requests, WATCH),
        (Process.DETECTOR, templates, ("get",)),
        (Process.WORKER, requests, ("get", "create", "patch", "delete")),
        (Process.WORKER, templates, ("get",)),
    ):
        yield Right(process=process, group=group, resource=resource, verbs=verbs, granted_by=REMEDIATOR)


def needs_for_secret(granted_by: str, namespace: str, name: str) -> Iterator[Right]:
    """The rights on the Secret with the kubeconfig of one workload cluster."""
    for process in Process:
        yield Right(
            process=process,
            group="",
            resource="secrets",
            verbs=("get",),
            namespace=namespace,
            name=name,
            granted_by=granted_by,
        )


async def is_allowed(
    client: Client, right: Right, verb: str, account: Mapping[str, object] | None = None
) -> bool:
    """True if the account with this `user` and `groups`, or else that of `client`, has the verb of `right`.

    The API server answers that; the right is not used.

    Raises:
        KubernetesError: the API server cannot be asked; Forbidden: `client` may not review the account.

    """
    resource, _, subresource = right.resource.partition("/")
    attributes = {"verb": verb, "group": right.group, "resource": resource, "subresource": subresource}
    attributes |= {"namespace": right.namespace or "", "name": right.name or ""}
    reviews = _REVIEWS if account else SELF_REVIEWS
    spec = {"resourceAttributes": attributes, **(account or {})}
    body = {"apiVersion": reviews.api_version, "kind": reviews.kind, "spec": spec}
    answer = await client.create(reviews, body)
    return bool(answer.get("status", {}).get("allowed"))


async def refused_verbs(
    client: Client, rights: Iterable[Right], account: Mapping[str, object] | None = None
) -> dict[Right, list[str]]:
    """The verbs that are refused of each right, all asked at once; rights that are complete are left out.

    Raises KubernetesError as `is_allowed`.
    """

    async def refused(right: Right) -> list[str]:
        return [verb for verb in right.verbs if not await is_allowed(client, right, verb, account)]

    asked = list(dict.fromkeys(rights))
    answers = await asyncio.gather(*map(refused, asked))
    return {right: verbs for right, verbs in zip(asked, answers, strict=True) if verbs}
