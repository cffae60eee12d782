"""The rights for MachineHealthChecks of OpenShift, in addition to those of every installation."""

from health.kinds.openshift.machine import GROUP
from health.kinds.right import Process, Right, RightsGroup

MACHINES = RightsGroup(
    "deploy/components/openshift-machines/machine-health-checks.yaml",
    "where MachineHealthChecks of OpenShift are handled",
    name="machines",
)
UPGRADE_PAUSES = RightsGroup(
    "deploy/components/openshift/upgrade-pause.yaml",
    "where MachineHealthChecks of OpenShift are paused for upgrades, handled or not",
    name="upgrade-pause",
)

RIGHTS = (
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="machinehealthchecks",
        verbs=("list", "watch"),
        part=MACHINES,
        why="the checks",
    ),
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="machinehealthchecks/status",
        verbs=("patch",),
        part=MACHINES,
        why="the detector reports the state of a check in its status",
    ),
    Right(
        process=Process.DETECTOR,
        group=GROUP,
        resource="machines",
        verbs=("list", "watch"),
        part=MACHINES,
        why="Machines are the targets of checks",
    ),
    Right(
        process=Process.DETECTOR,
        group="",
        resource="events",
        verbs=("create",),
        part=MACHINES,
        why="Events are in the namespaces of checks and Machines",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="machinehealthchecks",
        verbs=("get", "list"),
        part=MACHINES,
        why="a check is read again before an act",
    ),
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="machines",
        verbs=("get", "delete", "patch"),
        part=MACHINES,
        why="a Machine is deleted, or marked for external remediation; an order to remediate it is removed",
    ),
    Right(
        process=Process.WORKER,
        group="",
        resource="events",
        verbs=("create",),
        part=MACHINES,
        why="an Event on the Machine reports the result of an act",
    ),
)

UPGRADE_PAUSE_RIGHTS = (
    Right(
        process=Process.WORKER,
        group=GROUP,
        resource="machinehealthchecks",
        verbs=("get", "list", "patch"),
        part=UPGRADE_PAUSES,
        why="checks are listed, and paused by their annotation, while the cluster is upgraded",
    ),
    Right(
        process=Process.WORKER,
        group="",
        resource="events",
        verbs=("create",),
        part=UPGRADE_PAUSES,
        why="an Event on each paused check reports that an upgrade takes long",
    ),
)
