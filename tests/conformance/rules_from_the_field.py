"""Rules that users of the reference controllers asked for, and that win over what those controllers do."""

from tests.conformance.rule import Section

FIELD = Section(
    "rule ",
    "From the field",
    {
        "56": (
            "A failure begins at its lastTransitionTime, but not before the last look that showed another "
            "status, and not after the first look that showed this one; without a time, at that look."
        ),
        "57": "A new lastTransitionTime on the same status restarts no timer; another status does.",
        "58": (
            "Time in which no detector led, or in which the connection to a workload cluster was lost, "
            "restarts the timers of shorter durations; a shorter time changes no deadline."
        ),
        "59": (
            "While an owner works on a target, by a sign on it or on its Node, no step is taken: at most for "
            "the time that the policy sets, and not if the sign says that the work failed. The end restarts "
            "timers. A Node that is being deleted counts in no threshold."
        ),
        "60": (
            "A rollout holds neither Machines that its control plane owns nor Machines that never joined: it "
            "waits for their remediation."
        ),
        "61": (
            "Nodes and Machines with a label of members of a quorum, of a known distribution or of the "
            "policy, are remediated one at a time in each cluster, until the first is well or replaced."
        ),
        "61/owner": "A mark takes no turn if a control plane of Cluster API owns the Machine.",
        "62": (
            "A region, a zone as the pair of region and zone, and each value of a label that the policy "
            "names, are domains: an outage of one holds its targets, and its end restarts their timers."
        ),
        "63": (
            "A Node whose Machine's provider says that the instance is gone did not vanish; a suspected loss "
            "needs three Nodes; believed losses are remembered by name."
        ),
        "64": (
            "Where a check has paramedic.dev/relapse, a failure within that time after a remediation goes on "
            "with the next step; by default it begins with the first."
        ),
        "65": "Boot ID, machine ID and system UUID together identify a boot.",
    },
)

SECTIONS = (FIELD,)
