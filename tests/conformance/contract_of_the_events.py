"""NHC 1.5: the Events of a NodeHealthCheck."""

from tests.conformance.rule import Section

EVENTS = Section(
    "NHC 1.5/",
    "NHC 1.5: the Events",
    {
        "form": (
            "Events are about the check, from the component NodeHealthCheck, in the namespace default, "
            "and each message begins with [remediation]."
        ),
        "Enabled": "Normal, when Disabled becomes False for the first time or again.",
        "Disabled/MachineHealthCheck": "Warning, when MachineHealthChecks begin to conflict.",
        "Disabled/template": "Warning, with reason and message, when a template cannot be used.",
        "DetectedUnhealthy": (
            "Normal, with node, condition type and status, when a condition has expired on a node without "
            "a request."
        ),
        "RemediationCreated": "Normal, when a request was created.",
        "RemediationRemoved": "Normal, with kind and name, when the deletion of a request was ordered.",
        "RemediationSkipped/upgrade": "Normal, when an upgrade begins to hold new requests.",
        "RemediationSkipped/pause": "Normal, when a pause request begins to hold new requests.",
        "RemediationSkipped/threshold": (
            "Warning, with both numbers, when the threshold begins to hold new requests."
        ),
        "RemediationSkipped/storm": "Warning, when the cooldown of a storm holds new requests.",
        "RemediationSkipped/excluded": "Warning, when an unhealthy node is excluded by its label.",
        "RemediationSkipped/control plane": (
            "Warning, when a control-plane node has to wait for another one or for the etcd disruption "
            "budget."
        ),
        "RemediationSkipped/lease": (
            "Warning, naming the holder, when another actor holds the Lease of the node."
        ),
        "InvalidNodeLabel": "Warning, when the exclude label of a node is empty, and therefore ignored.",
        "NoTemplateLeft": "Warning, naming check and node, when the last step of an escalation has failed.",
        "StormRecoveryStarted": "Warning, when a storm begins.",
        "StormRecoveryCooldownStarted": "Warning, when the threshold holds again and the cooldown begins.",
        "StormRecoveryEnded": "Normal, when the cooldown is over.",
        "correlation": "Events of client-go are aggregated and rate-limited.",
    },
    not_applicable={
        "correlation": (
            "Events have deterministic names and are written once per transition (rule 15), so there "
            "is nothing to aggregate."
        ),
    },
)

SECTIONS = (EVENTS,)
