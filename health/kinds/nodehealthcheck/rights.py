"""The rights for NodeHealthChecks. Rights on requests are not in it, because remediators grant them."""

from health.kinds.nodehealthcheck.check import GROUP
from health.kinds.nodehealthcheck.machine_health_checks import GROUP as MACHINE_GROUP
from health.kinds.right import Process, Right, RightsGroup

WEBHOOK = RightsGroup("deploy/components/webhook/rbac.yaml", "where the webhook is installed", name="webhook")
CONFIRMATIONS = RightsGroup(
    "deploy/base/rbac/confirmations.yaml", "unless PARAMEDIC_CONFIRMATIONS is keep", name="confirmations"
)

RIGHTS = (
    Right(Process.DETECTOR, GROUP, "nodehealthchecks", ("list", "watch"), why="the checks"),
    Right(
        Process.DETECTOR,
        GROUP,
        "nodehealthchecks/status",
        ("patch",),
        why="the detector reports the state of a check in its status",
    ),
    Right(
        Process.DETECTOR,
        MACHINE_GROUP,
        "machinehealthchecks",
        ("list", "watch"),
        why="on OpenShift one of these disables every NodeHealthCheck",
    ),
    Right(
        Process.DETECTOR,
        "",
        "events",
        ("create",),
        namespace="default",
        why="Events about cluster-scoped objects, such as checks, are in that namespace",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "nodehealthchecks",
        ("get", "list"),
        why="a check is read again before an act; /readyz lists checks to prove that they can be read",
    ),
    Right(
        Process.WORKER,
        MACHINE_GROUP,
        "machines",
        ("get",),
        why="the Machine of a node is an owner of its request",
    ),
    Right(
        Process.WORKER,
        "",
        "events",
        ("create",),
        namespace="default",
        why="an Event on the check reports a request that another client deleted",
    ),
)
CONFIRMATION_RIGHTS = (
    Right(
        Process.WORKER,
        "",
        "nodes",
        ("patch",),
        part=CONFIRMATIONS,
        why="the worker removes a person's mark of a healthy node when its requests are gone; "
        "an admission policy allows only this",
    ),
)
WEBHOOK_RIGHTS = (
    Right(
        Process.DETECTOR,
        "config.openshift.io",
        "infrastructures",
        ("get",),
        name="cluster",
        part=WEBHOOK,
        why="the webhook refuses checks on an unsupported topology of the control plane",
    ),
)
