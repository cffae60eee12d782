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
    Right(Process.DETECTOR, GROUP, "machinehealthchecks", ("list", "watch"), part=MACHINES, why="the checks"),
    Right(
        Process.DETECTOR,
        GROUP,
        "machinehealthchecks/status",
        ("patch",),
        part=MACHINES,
        why="the detector reports the state of a check in its status",
    ),
    Right(
        Process.DETECTOR,
        GROUP,
        "machines",
        ("list", "watch"),
        part=MACHINES,
        why="Machines are the targets of checks",
    ),
    Right(
        Process.DETECTOR,
        "",
        "events",
        ("create",),
        part=MACHINES,
        why="Events are in the namespaces of checks and Machines",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "machinehealthchecks",
        ("get", "list"),
        part=MACHINES,
        why="a check is read again before an act",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "machines",
        ("get", "delete", "patch"),
        part=MACHINES,
        why="a Machine is deleted, or marked for external remediation",
    ),
    Right(
        Process.WORKER,
        "",
        "events",
        ("create",),
        part=MACHINES,
        why="an Event on the Machine reports the result of an act",
    ),
)

UPGRADE_PAUSE_RIGHTS = (
    Right(
        Process.DETECTOR,
        GROUP,
        "machinehealthchecks",
        ("list", "watch"),
        part=UPGRADE_PAUSES,
        why="the detector sees which checks exist, and which are paused",
    ),
    Right(
        Process.WORKER,
        GROUP,
        "machinehealthchecks",
        ("get", "patch"),
        part=UPGRADE_PAUSES,
        why="a check is read again, and paused by its annotation, while the cluster is upgraded",
    ),
    Right(
        Process.WORKER,
        "",
        "events",
        ("create",),
        part=UPGRADE_PAUSES,
        why="an Event on each paused check reports that an upgrade takes long",
    ),
)
