"""Rules 1 to 16, as far as they differ for Machines, and 25 to 28: OpenShift's MachineHealthCheck."""

from tests.conformance.rule import Section

MACHINES = Section(
    "rule ",
    "Rules 25 to 28: MachineHealthCheck, OpenShift",
    {
        "7/paused check": (
            "The pause annotation of a MachineHealthCheck stops clean-up too; it happens when the pause ends."
        ),
        "8/Machine": "A Machine that cannot be read affects itself alone.",
        "13/Machine": "Machines have a Lease too, by which one check at a time holds one.",
        "14/controller": (
            "A Machine that was made after a deletion under its controller goes on with that row of waits: "
            "none, 1, 2, 4, … minutes; those that were there before do not wait."
        ),
        "25": "nodeStartupTimeout counts from status.lastUpdated, or from creation where that is unset.",
        "26": "A live read confirms that a Node is missing before its Machine is deleted.",
        "27": (
            "ExternalRemediationTemplateAvailable and ExternalRemediationRequestAvailable are really there, "
            "True when nothing is wrong, False with the reason also where only an act found it."
        ),
        "28": "The annotation for external remediation is set, and left to its consumer to remove.",
    },
)

SECTIONS = (MACHINES,)
