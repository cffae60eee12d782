"""An ExaminedCluster whose objects a test gives, for the questions about it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from cli.doctor.cluster import ExaminedCluster
from cli.doctor.finding import FindingRule
from health.kinds.check_kind import CheckKind
from health.policy.policy_in_force import NO_OBJECT, PolicyInForce
from kube.lease import LeaseRecord
from kube.resource import Object
from runtime.paramedic_status import ParamedicStatusDocument
from runtime.settings import Settings
from tests.support.values.builders import NOW


class KnownCluster(ExaminedCluster):
    """The objects of one cluster at one moment, without an API server."""

    def __init__(  # noqa: PLR0913  each is one thing that doctor reads
        self,
        *,
        lease: Object | None = None,
        leases: Sequence[LeaseRecord] = (),
        status: ParamedicStatusDocument | None = None,
        policy: PolicyInForce = NO_OBJECT,
        checks: Mapping[CheckKind, Sequence[Object]] | None = None,
        skew: timedelta | None = None,
        now: datetime = NOW,
    ) -> None:
        kinds = tuple(checks or {})
        self.settings = Settings(cluster="prdo", check_kinds=kinds)
        self.identities, self.temporal_namespace = ("prdo-1a2b3c4d",), "default"
        self.now = now
        self.connection = cast("Any", SimpleNamespace(server_clock=SimpleNamespace(skew=lambda: skew)))
        self._lease, self._leases = lease, leases
        self._status, self._known_policy = status or ParamedicStatusDocument(), policy
        self._stored = {kind.resource_name: stored for kind, stored in (checks or {}).items()}

    async def policy(self) -> PolicyInForce:
        return self._known_policy

    async def lease(self, name: str) -> Object | None:  # noqa: ARG002  as Cluster
        return self._lease

    async def leases_everywhere(self, name: str) -> Sequence[LeaseRecord]:
        return [lease for lease in self._leases if lease.metadata.name == name]

    async def status(self) -> ParamedicStatusDocument:
        return self._status


async def said(question: FindingRule[ExaminedCluster], cluster: ExaminedCluster) -> list[str]:
    """The findings of one question as lines."""
    return [str(finding) for finding in await question.findings(cluster)]
