"""MHC A.2: what OpenShift's MachineHealthCheck notices, how it judges, and what it does."""

from tests.conformance.rule import Section

TRIGGERS = Section(
    "MHC A.2.1/",
    "MHC A.2.1: what is noticed at once",
    {
        "check": "A check that is created, deleted or edited, its annotations included.",
        "Machine": "A Machine that comes, changes or goes; the numbers follow also when one is really gone.",
        "Node": "A Node that comes, changes or goes, by the Machine that is linked to it.",
        "shared Node": "A Node that several Machines are linked to counts for each of them.",
        "heartbeat": "A heartbeat causes no write and no message to a workflow.",
        "targets": "Targets are chosen by namespace and labels alone, not by owner, role or deletion.",
    },
)

VERDICT = Section(
    "MHC A.2.3/",
    "MHC A.2.3: what is unhealthy, the first that fits",
    {
        "1": (
            "A Machine whose phase is Failed is unhealthy at once, even with a healthy Node, and while it is "
            "being deleted."
        ),
        "2": (
            "A Machine that was never linked to a Node is remediated strictly after nodeStartupTimeout; "
            "where that is off it is never remediated, and counts as unhealthy."
        ),
        "3": "A Machine whose Node is not there any more is remediated at once.",
        "4": (
            "A condition that its Node has is remediated strictly after its timeout, counted from its last "
            "transition; a change of status starts the clock again, and a missing condition is healthy."
        ),
        "5": "Without an expired condition the earliest deadline runs.",
    },
)

NUMBERS = Section(
    "MHC A.2.4/",
    "MHC A.2.4: who counts as healthy, and the threshold",
    {
        "healthy": (
            "A Machine counts as healthy if its Node is there, nothing makes it unhealthy, no timer runs for "
            "it, and it is neither being deleted nor annotated for external remediation."
        ),
        "request": "A Machine with a healthy Node counts as healthy while its request still exists.",
        "threshold": "Remediation is allowed while the number of unhealthy targets is at most maxUnhealthy.",
        "rounding": "A percentage of the targets, those being deleted included, is rounded down.",
        "blocked": "While nothing is allowed no Machine is remediated, and no incident polls.",
    },
)

REMEDIATION = Section(
    "MHC A.2.5/",
    "MHC A.2.5: remediation",
    {
        "template": (
            "With a template each unhealthy Machine gets a request, also without a controller, Failed, or "
            "being deleted; one that exists is left."
        ),
        "request": (
            "The request has the name and namespace of the Machine, spec.template as contents, its labels "
            "and annotations, and the Machine as its one owner."
        ),
        "mark": "With the strategy external-baremetal a Machine is annotated, also without a controller.",
        "no controller": "A Machine that no controller owns is not deleted.",
        "control plane": "Machines of the control plane are remediated too.",
        "deleting": "A Machine that is being deleted already is not deleted again.",
        "delete": "A Machine is deleted, and nothing is written to it before.",
    },
)

CLEAN_UP = Section(
    "MHC A.2.6/",
    "MHC A.2.6: clean-up",
    {
        "healthy": "The request for a Machine that is healthy again is deleted at once, once.",
    },
)

CONSUMER = Section(
    "MHC A.2.7/",
    "MHC A.2.7: external-baremetal",
    {"consumer": "The bare metal provider acts on the annotation."},
    not_applicable={"consumer": "it is the provider's own controller, not the check's."},
)

PAUSE = Section(
    "MHC A.2.8/",
    "MHC A.2.8: pause",
    {
        "nothing": (
            "Nothing is written for a paused check: no status, Event, request, mark, deletion or clean-up."
        ),
        "in flight": "Pausing takes back nothing that was ordered.",
        "clock": "Clocks run on: a Machine whose time is over is remediated when the pause ends.",
    },
)

RESTART = Section(
    "MHC A.2.9/",
    "MHC A.2.9: restarts",
    {"restart": "Timers come from times in the objects: a restart of any length moves no deadline."},
)

SECTIONS = (TRIGGERS, VERDICT, NUMBERS, REMEDIATION, CLEAN_UP, CONSUMER, PAUSE, RESTART)
