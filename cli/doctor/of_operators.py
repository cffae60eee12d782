"""Findings about the operator of a kind, and the admission policies that keep it from remediating.

An operator may have no switch for its checks, while its process runs other controllers that are needed. The
documented set-up lets it run, and policies refuse the remediations of its checks.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cli.doctor.finding import Finding, note, warning
from health.kinds.check_kind import CheckKind, OperatorPolicies
from kube.client import Client
from kube.errors import none_if_absent
from kube.lease import LeaseRecord, holder_is_valid
from kube.resource import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, SERVICE_ACCOUNTS, Object, Resource
from objects.frozen import FrozenObject

_SERVICE_ACCOUNT = re.compile(r"system:serviceaccount:([a-z0-9-]+):([a-z0-9.-]+)")


class _Metadata(FrozenObject):
    name: str


class _Rule(FrozenObject):
    api_groups: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()

    def covers(self, operation: str, resource: Resource) -> bool:
        constraints = (
            (self.operations, operation),
            (self.api_groups, resource.group),
            (self.resources, resource.plural),
        )
        return all(word in words or "*" in words for words, word in constraints)


class _Constraints(FrozenObject):
    resource_rules: tuple[_Rule, ...] = ()


class _Condition(FrozenObject):
    expression: str = ""


class _PolicySpec(FrozenObject):
    match_constraints: _Constraints = _Constraints()
    match_conditions: tuple[_Condition, ...] = ()


class _Policy(FrozenObject):
    metadata: _Metadata
    spec: _PolicySpec = _PolicySpec()

    @property
    def service_accounts(self) -> frozenset[tuple[str, str]]:
        """Namespace and name of the ServiceAccounts in its conditions."""
        texts = (condition.expression for condition in self.spec.match_conditions)
        return frozenset(found.groups() for text in texts for found in _SERVICE_ACCOUNT.finditer(text))  # type: ignore[misc]  # two groups

    def refuses_creation_of(self, resource: Resource) -> bool:
        return any(rule.covers("CREATE", resource) for rule in self.spec.match_constraints.resource_rules)


class _BindingSpec(FrozenObject):
    policy_name: str = ""
    validation_actions: tuple[str, ...] = ()


class _Binding(FrozenObject):
    spec: _BindingSpec = _BindingSpec()


@dataclass(frozen=True)
class PoliciesInForce:
    """The policies of a cluster that have a binding with the action Deny."""

    policies: tuple[_Policy, ...] = ()

    @classmethod
    def of(cls, policies: Iterable[Object], bindings: Iterable[Object]) -> "PoliciesInForce":
        bound = [_Binding.model_validate(binding).spec for binding in bindings]
        denied = {spec.policy_name for spec in bound if "Deny" in spec.validation_actions}
        parsed = map(_Policy.model_validate, policies)
        return cls(tuple(policy for policy in parsed if policy.metadata.name in denied))

    def missing(self, wanted: OperatorPolicies) -> list[str]:
        """The names of wanted policies that are not in force."""
        names = {policy.metadata.name for policy in self.policies}
        return [name for name in wanted.names if name not in names]

    def service_accounts(self, wanted: OperatorPolicies) -> frozenset[tuple[str, str]]:
        """The ServiceAccounts that the wanted policies restrict."""
        named = (policy.service_accounts for policy in self.policies if policy.metadata.name in wanted.names)
        return frozenset().union(*named)

    def unnamed(self, wanted: OperatorPolicies, requests: Iterable[Resource]) -> list[Resource]:
        """The kinds of requests that no policy refuses to these ServiceAccounts."""
        accounts = self.service_accounts(wanted)
        policies = [policy for policy in self.policies if policy.service_accounts & accounts]
        return [
            request
            for request in requests
            if not any(policy.refuses_creation_of(request) for policy in policies)
        ]


def keeps_off(kind: CheckKind, found: PoliciesInForce) -> bool:
    """True if the documented policies keep the operator of `kind` from remediating."""
    wanted = kind.operator_policies
    return wanted is not None and not found.missing(wanted)


def policy_findings(
    kind: CheckKind, found: PoliciesInForce, requests: Sequence[Resource]
) -> Iterator[Finding]:
    """Findings about the policies of a kind, if at least one is in force.

    `requests` are the kinds of requests that its checks create.
    """
    wanted = kind.operator_policies
    if wanted is None or len(found.missing(wanted)) == len(wanted.names):
        return
    for name in found.missing(wanted):
        what = f"the admission policy {name} is not in force, and others beside it are"
        yield warning("OperatorPolicyMissing", what, f"apply {wanted.file}, with its bindings")
    for resource in found.unnamed(wanted, requests):
        what = f"checks make {resource.full_name}, and no admission policy refuses them to {kind.operator}"
        advice = f"name them in the resources of a policy as in {wanted.file}; two controllers make them now"
        yield warning("RequestsNotRefused", what, advice)


async def read_policies_in_force(client: Client) -> PoliciesInForce:
    """The policies of a cluster.

    Raises:
        KubernetesError: they or their bindings cannot be listed.

    """
    policies = await client.list(ADMISSION_POLICIES)
    return PoliciesInForce.of(policies, await client.list(ADMISSION_POLICY_BINDINGS))


async def absent_accounts(client: Client, kind: CheckKind, found: PoliciesInForce) -> list[Finding]:
    """A finding for each ServiceAccount that the policies of a kind name, and that does not exist.

    Raises:
        KubernetesError: a ServiceAccount cannot be read.

    """
    named = found.service_accounts(kind.operator_policies) if kind.operator_policies else ()
    return [
        absent_account(kind, namespace, name)
        for namespace, name in sorted(named)
        if await none_if_absent(client.get(SERVICE_ACCOUNTS, name, namespace)) is None
    ]


def absent_account(kind: CheckKind, namespace: str, name: str) -> Finding:
    """The finding that the policies name a ServiceAccount that does not exist."""
    wanted = kind.operator_policies
    account = f"the ServiceAccount {namespace}/{name}"
    what = f"the admission policies for {kind.operator} name {account}, which does not exist"
    file = wanted.file if wanted is not None else ""
    return warning(
        "OperatorPolicyForNobody", what, f"name the one of its process in {file}; nothing is refused now"
    )


def kept_off(kind: CheckKind, lease: LeaseRecord) -> Finding:
    """The note that the operator runs and its policies are in force."""
    place = f"{lease.metadata.namespace}/{lease.metadata.name}"
    what = (
        f"{lease.spec.holder_identity!r} holds the Lease {place} for all controllers of {kind.operator} "
        f"together; admission policies refuse what its {kind.plural} would do"
    )
    return note(
        "ReferenceKeptOff", what, f"let it run, other controllers of {kind.operator} are in that process"
    )


def operator_findings(kind: CheckKind, leases: Sequence[LeaseRecord], now: datetime) -> Iterator[Finding]:
    """Findings about an operator of the kind that holds one of `leases`, its leader Leases."""
    for lease in leases:
        if not holder_is_valid(lease, now):
            continue
        place, holder = f"{lease.metadata.namespace}/{lease.metadata.name}", lease.spec.holder_identity
        if kind.operator_guide:
            yield note(
                "ReferenceControllerMayRun",
                f"{holder!r} holds the Lease {place} for all controllers of {kind.operator} together, and "
                f"nothing says whether the one of {kind.plural} is off",
                f"make sure by {kind.operator_guide}, two controllers would remediate the same targets; "
                f"do not stop it, other controllers of {kind.operator} are in that process",
            )
            continue
        yield warning(
            "ReferenceRuns",
            f"the {kind.operator} runs: {holder!r} holds the Lease {place}",
            "stop it, two controllers would remediate the same targets",
        )
