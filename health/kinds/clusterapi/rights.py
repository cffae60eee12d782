"""The rights for MachineHealthChecks of Cluster API. None of them allows deleting a Machine.

Each Secret of a workload cluster has a right of its own (docs/cluster-api-switch.md).
"""

from health.kinds.clusterapi.group import CONTROL_PLANE_GROUP, GROUP
from health.kinds.right import Process, Right, RightsGroup

MANAGEMENT = RightsGroup(
    "deploy/components/cluster-api/machine-health-checks.yaml",
    "in a management cluster whose MachineHealthChecks of Cluster API are handled",
    name="cluster-api",
)
SECRETS = RightsGroup(
    "deploy/examples/kubeconfig-secrets.yaml",
    "for each workload cluster of a check, written by you",
    name="workload-clusters",
)

RIGHTS = (
    Right(
        Process.DETECTOR,
        GROUP,
        "clusters",
        ("list", "watch"),
        part=MANAGEMENT,
        why="a check depends on whether its Cluster is paused and initialized",
    ),
    Right(
        Process.DETECTOR,
        CONTROL_PLANE_GROUP,
        "kubeadmcontrolplanes",
        ("list", "watch"),
        part=MANAGEMENT,
        why="a rollout of the control plane holds the checks of its Cluster",
    ),
    Right(
        Process.DETECTOR,
        GROUP,
        "machines",
        ("get", "list", "watch"),
        part=MANAGEMENT,
        why="Machines are the targets of checks; one is read again right before its status is patched",
    ),
    Right(
        Process.DETECTOR,
        GROUP,
        "machines/status",
        ("patch",),
        part=MANAGEMENT,
        why="the conditions HealthCheckSucceeded and ExternallyRemediated",
    ),
    Right(
        Process.DETECTOR,
        GROUP,
        "machinehealthchecks",
        ("get", "list", "watch", "patch"),
        part=MANAGEMENT,
        why="the checks; they get the label with the name of their Cluster, and the Cluster as an owner",
    ),
    Right(
        Process.DETECTOR,
        GROUP,
        "machinehealthchecks/status",
        ("patch",),
        part=MANAGEMENT,
        why="the detector reports the state of a check in its status",
    ),
    Right(
        Process.DETECTOR,
        "",
        "events",
        ("create",),
        part=MANAGEMENT,
        why="Events are in the namespaces of checks and Machines",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "machinehealthchecks",
        ("get", "list"),
        part=MANAGEMENT,
        why="a check is read again before an act; /readyz lists checks to prove that they can be read",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "clusters",
        ("get",),
        part=MANAGEMENT,
        why="the Cluster of a check is read again before an act",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "machines",
        ("get",),
        part=MANAGEMENT,
        why="a Machine is read again before it is marked",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "machines/status",
        ("patch",),
        part=MANAGEMENT,
        why="the mark OwnerRemediated, which asks the owner of a Machine to remediate it",
    ),
    Right(
        Process.WORKER,
        "",
        "events",
        ("create",),
        part=MANAGEMENT,
        why="an Event on the Machine reports the result of an act",
    ),
)
