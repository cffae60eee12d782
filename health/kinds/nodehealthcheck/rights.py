"""The rights for NodeHealthChecks. Rights on requests are not in it, because remediators grant them."""

from health.kinds.nodehealthcheck.check import GROUP
from health.kinds.nodehealthcheck.machine_health_checks import GROUP as MACHINE_GROUP
from health.kinds.right import Process, Right, RightsGroup

WEBHOOK = RightsGroup("deploy/components/webhook/rbac.yaml", "where the webhook is installed", name="webhook")
CONFIRMATIONS = RightsGroup(
    "deploy/base/rbac/confirmations.yaml", "unless PARAMEDIC_CONFIRMATIONS is keep", name="confirmations"
)

RIGHTS = (
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="nodehealthchecks",
        verbs=("list", "watch"),
        why="the checks",
    ),
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="nodehealthchecks/status",
        verbs=("patch",),
        why="the detector reports the state of a check in its status",
    ),
    Right(
        process=Process.DETECTOR,
        group=MACHINE_GROUP,
        resource="machinehealthchecks",
        verbs=("list", "watch"),
        why="on OpenShift one of these disables every NodeHealthCheck",
    ),
    Right(
        process=Process.DETECTOR,
        group="",
        resource="events",
        verbs=("create",),
        namespace="default",
        why="Events about cluster-scoped objects, such as checks, are in that namespace",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="nodehealthchecks",
        verbs=("get", "list"),
        why="a check is read again before an act; /readyz lists checks to prove that they can be read",
    ),
    Right(
        process=Process.WORKER,
        group=MACHINE_GROUP,
        resource="machines",
        verbs=("get",),
        why="the Machine of a node is an owner of its request",
    ),
    Right(
        process=Process.WORKER,
        group="",
        resource="events",
        verbs=("create",),
        namespace="default",
        why="an Event on the check reports a request that another client deleted",
    ),
)
CONFIRMATION_RIGHTS = (
    Right(
        process=Process.WORKER,
        group="",
        resource="nodes",
        verbs=("patch",),
        part=CONFIRMATIONS,
        why="the worker removes marks of healthy nodes, and orders to remediate that are over; "
        "an admission policy allows only this",
    ),
)
WEBHOOK_RIGHTS = (
    Right(
        process=Process.DETECTOR,
        group="config.openshift.io",
        resource="infrastructures",
        verbs=("get",),
        name="cluster",
        part=WEBHOOK,
        why="the webhook refuses checks on an unsupported topology of the control plane",
    ),
)
