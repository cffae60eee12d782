"""Settings of the detector and the worker, read once from the environment into one frozen value.

The addresses of Temporal and Kubernetes have their standard settings: `TEMPORAL_*` and its profiles, and
`KUBECONFIG` or the service account of the Pod.
"""

import os
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from health.cluster.upgrade import CLUSTER_VERSION, UpgradeSignal
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS, HANDLED_BY_DEFAULT
from health.kinds.right import Process
from health.upgrade.memory import LONG_UPGRADE
from kube.answer_bounds import MIB
from objects.address import LARGEST_PORT, Address
from objects.field_problem import FieldProblem, quoted
from objects.frozen import Frozen
from objects.patterns import matching
from runtime.process_names import NAMESPACE, SERVICE_ACCOUNTS

PREFIX = "PARAMEDIC_"
CLUSTER_VARIABLE = f"{PREFIX}CLUSTER"
CHECK_KINDS_VARIABLE = f"{PREFIX}CHECK_KINDS"
PAYLOAD_KEYS_VARIABLE = f"{PREFIX}PAYLOAD_KEYS_FILE"
NOTIFICATION_DIRECTORY_VARIABLE = f"{PREFIX}NOTIFICATION_DIRECTORY"
LEASE_NAMESPACE_VARIABLE = f"{PREFIX}LEASE_NAMESPACE"
LEASE_NAMESPACE = "medik8s-leases"
LONGEST_CLUSTER, LONGEST_NAMESPACE = 52, 63


def _a_label(longest: int) -> AfterValidator:
    """Text in the format of Kubernetes namespaces."""
    allowed = f"must be 1 to {longest} of a-z, 0-9 and -, with no - at either end"
    return matching(rf"[a-z0-9]([-a-z0-9]{{0,{longest - 2}}}[a-z0-9])?", allowed)


def _an_address(text: str) -> str:
    try:
        Address.parse(text)
    except ValueError as error:
        raise ValueError(f"must be host:port, with a port from 1 to {LARGEST_PORT}") from error
    return text


def _signals(listed: object) -> object:
    return (
        [UpgradeSignal.parse(word.strip()) for word in listed.split(",")]
        if isinstance(listed, str)
        else listed
    )


def _kinds(listed: str) -> tuple[CheckKind, ...]:
    kinds_by_name = {kind.resource_name: kind for kind in CHECK_KINDS.values()}
    names = [name.strip() for name in listed.split(",")]
    unknown = next((name for name in names if name not in kinds_by_name), None)
    if unknown is not None:
        raise ValueError(f"there is no kind {unknown!r}, there are {', '.join(kinds_by_name)}")
    return tuple(kinds_by_name[name] for name in dict.fromkeys(names))


class SettingsError(Exception):
    """A variable of the environment is invalid; the message has its name and value."""


class Settings(Frozen):
    """The settings of both processes, one field for each variable."""

    cluster: Annotated[str, _a_label(LONGEST_CLUSTER)]
    """PARAMEDIC_CLUSTER: a name for this cluster, part of workflow ids and task queues."""
    namespace: Annotated[str, _a_label(LONGEST_NAMESPACE)] = NAMESPACE
    """PARAMEDIC_NAMESPACE: the namespace of the detector's leader Lease."""
    lease_namespace: Annotated[str, _a_label(LONGEST_NAMESPACE)] = LEASE_NAMESPACE
    """PARAMEDIC_LEASE_NAMESPACE: the namespace of target Leases, shared with other tools."""
    detector_service_account: str = Field(default=SERVICE_ACCOUNTS[Process.DETECTOR], min_length=1)
    """PARAMEDIC_DETECTOR_SERVICE_ACCOUNT: the ServiceAccount whose rights `paramedic doctor` reviews."""
    worker_service_account: str = Field(default=SERVICE_ACCOUNTS[Process.WORKER], min_length=1)
    """PARAMEDIC_WORKER_SERVICE_ACCOUNT: the same for the worker."""
    ready_address: Annotated[str, AfterValidator(_an_address)] = ":8081"
    """PARAMEDIC_READY_ADDRESS: host:port of GET /readyz, /healthz and /metrics; an empty host is all."""
    webhook_address: Annotated[
        Annotated[str, AfterValidator(_an_address)] | None, BeforeValidator(lambda text: text or None)
    ] = None
    """PARAMEDIC_WEBHOOK_ADDRESS: host:port of the detector's validating webhook; none without it."""
    webhook_certificate_directory: str = "/etc/paramedic/webhook"
    """PARAMEDIC_WEBHOOK_CERTIFICATE_DIRECTORY: the folder of its tls.crt and tls.key."""
    payload_keys_file: str | None = None
    """PARAMEDIC_PAYLOAD_KEYS_FILE: the keys that encrypt payloads in Temporal; None: none do."""
    identity: str = Field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}", min_length=1)
    """PARAMEDIC_IDENTITY: a unique name; two detectors with the same one would both lead."""
    log_level: Literal["info", "debug"] = "info"
    """PARAMEDIC_LOG_LEVEL: with debug, each failed attempt is logged with its traceback."""

    cache_limit_mebibytes: int | None = Field(default=None, ge=16, le=1024 * 1024)
    """PARAMEDIC_CACHE_LIMIT_MEBIBYTES: the most memory for the records of one kind of object in this cluster;
    without it a quarter of the memory limit of the container, and at least 128."""
    evidence_limit: int = Field(default=100, ge=1, le=1000)
    """PARAMEDIC_EVIDENCE_LIMIT: the most ConfigMaps with evidence."""
    evidence_keep_seconds: float = Field(default=timedelta(days=30).total_seconds(), gt=0)
    """PARAMEDIC_EVIDENCE_KEEP_SECONDS: the age at which evidence is deleted."""
    notification_directory: str = "/etc/paramedic/notifications"
    """PARAMEDIC_NOTIFICATION_DIRECTORY: the folder of the files with addresses that the policy names."""
    confirmations: Literal["remove", "keep"] = "remove"
    """PARAMEDIC_CONFIRMATIONS: whether a person's annotation that a target is healthy is removed."""
    check_kinds: Annotated[
        tuple[CheckKind, ...],
        BeforeValidator(lambda listed: _kinds(listed) if isinstance(listed, str) else listed),
    ] = HANDLED_BY_DEFAULT
    """PARAMEDIC_CHECK_KINDS, or --check-kinds: the handled kinds of health check, with commas.
    Without them, variables PARAMEDIC_CHECK_KINDS_* add kinds to the default."""
    missing_policy: Literal["hold", "allow"] = "allow"
    """PARAMEDIC_MISSING_POLICY: whether every check is held while the policy is missing (rule 51)."""
    upgrade_signals: Annotated[tuple[UpgradeSignal, ...], BeforeValidator(_signals)] = Field(
        default_factory=lambda given: (
            CLUSTER_VERSION,
            *(signal for kind in given["check_kinds"] for signal in kind.upgrade_signals),
        )
    )
    """PARAMEDIC_UPGRADE_SIGNALS: apiVersion/kind/condition=status,…: conditions that signal upgrades."""
    upgrade_pause: Literal["on", "off"] = "on"
    """PARAMEDIC_UPGRADE_PAUSE: whether pausable checks are paused by their annotation for upgrades."""
    long_upgrade_seconds: float = Field(
        default=LONG_UPGRADE.total_seconds(), gt=0, le=timedelta(days=366).total_seconds()
    )
    """PARAMEDIC_LONG_UPGRADE_SECONDS: the duration after which an upgrade is reported as long."""

    @property
    def service_accounts(self) -> Mapping[Process, str]:
        return {Process.DETECTOR: self.detector_service_account, Process.WORKER: self.worker_service_account}

    @property
    def most_kept_bytes(self) -> int | None:
        return None if self.cache_limit_mebibytes is None else self.cache_limit_mebibytes * MIB

    @property
    def requires_policy(self) -> bool:
        return self.missing_policy == "hold"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """The settings in the variables PARAMEDIC_*.

        Raises:
            SettingsError: one is missing or invalid.

        """
        given: dict[str, object] = {
            name.removeprefix(PREFIX).lower(): value
            for name, value in environment.items()
            if name.startswith(PREFIX)
        }
        added: list[CheckKind] = []
        for name in sorted(name for name in environment if name.startswith(f"{CHECK_KINDS_VARIABLE}_")):
            try:
                added += _kinds(environment[name])
            except ValueError as error:
                raise SettingsError(f"{name}: {error} (found {environment[name]!r})") from error
        if added and CHECK_KINDS_VARIABLE not in environment:
            given["check_kinds"] = tuple(dict.fromkeys((*HANDLED_BY_DEFAULT, *added)))
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = f"{PREFIX}{str(first['loc'][0]).upper()}"
            if name not in environment:
                raise SettingsError(f"{name}: must be set") from error
            words = FieldProblem.of_details(first).words
            raise SettingsError(f"{name}: {words} (found {quoted(environment[name])})") from error
