"""Needs: the rights of the detector and of the worker, in one table; `deploy/` grants the same.

What remediators grant on their templates and requests is not in it: that depends on the checks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from runtime.process_names import DETECTOR, WORKER
from runtime.settings import Settings


class Process(StrEnum):
    """One of our two processes."""

    DETECTOR = "detector"
    WORKER = "worker"

    @property
    def service_account(self) -> str:
        """The ServiceAccount that `deploy/` makes for it."""
        return {Process.DETECTOR: DETECTOR, Process.WORKER: WORKER}[self]


@dataclass(frozen=True)
class Need:
    """Verbs on one resource; "" for namespace or name means all."""

    process: Process
    group: str
    resource: str
    """With its subresource, if it is about one."""
    verbs: tuple[str, ...]
    namespace: str = ""
    name: str = ""
    granted_by: str = "deploy/rbac"
    """What is to be applied to get it."""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" {self.name}" if self.name else ""
        return f"{what}{named}{f' in {self.namespace}' if self.namespace else ''}"


OPENSHIFT = "deploy/openshift/machine-health-checks.yaml"
_LEASES, _MACHINES, _NODE_CHECKS = "coordination.k8s.io", "machine.openshift.io", "remediation.medik8s.io"
_WATCH = ("list", "watch")


def needs(settings: Settings) -> Iterator[Need]:
    """All rights that our processes need with these settings."""
    yield from _of_detector(settings)
    yield from _of_worker(settings)
    if NODE_HEALTH_CHECK in settings.check_kinds:
        yield from _FOR_NODES
    if MACHINE_HEALTH_CHECK in settings.check_kinds:
        yield from _FOR_MACHINES


def _of_detector(settings: Settings) -> Iterator[Need]:
    one, ours = Process.DETECTOR, settings.namespace
    yield Need(one, "", "nodes", _WATCH)
    yield Need(one, "", "namespaces", ("get",), name="kube-system")
    yield Need(one, "", "namespaces", _WATCH)
    yield Need(one, "config.openshift.io", "clusterversions", _WATCH)
    yield Need(one, _MACHINES, "machinehealthchecks", _WATCH)
    yield Need(one, _LEASES, "leases", _WATCH, settings.lease_namespace)
    yield Need(one, _LEASES, "leases", ("create", "get", "list", "patch", "delete"), ours)


def _of_worker(settings: Settings) -> Iterator[Need]:
    one, shared = Process.WORKER, settings.lease_namespace
    yield Need(one, "", "nodes", ("get", "patch"))
    yield Need(one, "", "namespaces", ("get",), name="kube-system")
    yield Need(one, "", "namespaces", ("get",), name=shared)
    yield Need(one, "", "namespaces", ("create",))
    yield Need(one, _MACHINES, "machines", ("get",))
    yield Need(one, _LEASES, "leases", ("create", "get", "patch", "delete"), shared)


_FOR_NODES = (
    Need(Process.DETECTOR, _NODE_CHECKS, "nodehealthchecks", _WATCH),
    Need(Process.DETECTOR, _NODE_CHECKS, "nodehealthchecks/status", ("patch",)),
    Need(Process.DETECTOR, "", "events", ("create",), "default"),
    Need(Process.WORKER, _NODE_CHECKS, "nodehealthchecks", ("get", "list")),
    Need(Process.WORKER, "", "events", ("create",), "default"),
)
_FOR_MACHINES = (
    Need(Process.DETECTOR, _MACHINES, "machines", _WATCH, granted_by=OPENSHIFT),
    Need(Process.DETECTOR, _MACHINES, "machinehealthchecks/status", ("patch",), granted_by=OPENSHIFT),
    Need(Process.DETECTOR, "", "events", ("create",), granted_by=OPENSHIFT),
    Need(Process.WORKER, _MACHINES, "machines", ("delete", "patch"), granted_by=OPENSHIFT),
    Need(Process.WORKER, _MACHINES, "machinehealthchecks", ("get", "list"), granted_by=OPENSHIFT),
    Need(Process.WORKER, "", "events", ("create",), granted_by=OPENSHIFT),
)


def needs_for_requests(group: str, templates: str, requests: str) -> tuple[Need, ...]:
    """The rights on the templates and requests of one remediator, by their plurals."""
    by = "a ClusterRole of the remediator, labelled rbac.ext-remediation/aggregate-to-ext-remediation"
    verbs = ("get", "create", "patch", "delete")
    return (
        Need(Process.DETECTOR, group, requests, _WATCH, granted_by=by),
        Need(Process.WORKER, group, requests, verbs, granted_by=by),
        Need(Process.WORKER, group, templates, ("get",), granted_by=by),
    )
