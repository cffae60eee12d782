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
        process=Process.DETECTOR,
        group=GROUP,
        resource="clusters",
        verbs=("list", "watch"),
        part=MANAGEMENT,
        why="a check depends on whether its Cluster is paused and initialized",
    ),
    Right(
        process=Process.DETECTOR,
        group=CONTROL_PLANE_GROUP,
        resource="kubeadmcontrolplanes",
        verbs=("list", "watch"),
        part=MANAGEMENT,
        why="a rollout of the control plane holds the checks of its Cluster",
    ),
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="machines",
        verbs=("get", "list", "watch"),
        part=MANAGEMENT,
        why="Machines are the targets of checks; one is read again right before its status is patched",
    ),
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="machines/status",
        verbs=("patch",),
        part=MANAGEMENT,
        why="the conditions HealthCheckSucceeded and ExternallyRemediated",
    ),
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="machinehealthchecks",
        verbs=("get", "list", "watch", "patch"),
        part=MANAGEMENT,
        why="the checks; they get the label with the name of their Cluster, and the Cluster as an owner",
    ),
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="machinehealthchecks/status",
        verbs=("patch",),
        part=MANAGEMENT,
        why="the detector reports the state of a check in its status",
    ),
    Right(
        process=Process.DETECTOR,
        group="",
        resource="events",
        verbs=("create",),
        part=MANAGEMENT,
        why="Events are in the namespaces of checks and Machines",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="machinehealthchecks",
        verbs=("get", "list"),
        part=MANAGEMENT,
        why="a check is read again before an act; /readyz lists checks to prove that they can be read",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="clusters",
        verbs=("get",),
        part=MANAGEMENT,
        why="the Cluster of a check is read again before an act",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="machines",
        verbs=("get",),
        part=MANAGEMENT,
        why="a Machine is read again before it is marked",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="machines",
        verbs=("patch",),
        part=MANAGEMENT,
        why="the worker removes an order to remediate that is over; an admission policy allows only this",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="machines/status",
        verbs=("patch",),
        part=MANAGEMENT,
        why="the mark OwnerRemediated, which asks the owner of a Machine to remediate it",
    ),
    Right(
        process=Process.WORKER,
        group="",
        resource="events",
        verbs=("create",),
        part=MANAGEMENT,
        why="an Event on the Machine reports the result of an act",
    ),
)
