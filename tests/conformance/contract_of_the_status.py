"""NHC 1.2 to 1.4: what a NodeHealthCheck shows in its status."""

from tests.conformance.rule import Section

FIELDS = Section(
    "NHC 1.2/",
    "NHC 1.2: the fields of status",
    {
        "observedNodes": "The number of selected nodes.",
        "healthyNodes": (
            "The selected nodes that match no unhealthy condition, expired or not, and have no request of "
            "this check left."
        ),
        "unhealthyNodes": (
            "One entry, by name, for each node with an expired condition or a request of this check."
        ),
        "unhealthyNodes/remediations": (
            "Each request with its reference, its creation as start, its template, and the time at which "
            "it timed out."
        ),
        "unhealthyNodes/conditionsHealthyTimestamp": (
            "When the node was seen recovered while a request still exists; stamped once for each recovery."
        ),
        "unhealthyNodes/healthyDelayed": (
            "True while a positive healthyDelay keeps a request; a negative one does not set it."
        ),
        "inFlightRemediations": "The deprecated map is always cleared.",
        "lastUpdateTime": "Moves, in whole seconds, only when something else changed.",
        "patch": "Status is one merge patch on the subresource, and nothing is sent when nothing changed.",
    },
)

CONDITIONS = Section(
    "NHC 1.3/",
    "NHC 1.3: the conditions",
    {
        "Disabled/ConflictingMachineHealthCheckDetected": "Disabled=True while MachineHealthChecks conflict.",
        "Disabled/RemediationTemplateNotFound": (
            "Disabled=True while a template, or its kind, cannot be found."
        ),
        "Disabled/RemediationTemplateInvalid": (
            "Disabled=True while a template has no spec.template.spec, or a Metal3 template is in the "
            "wrong namespace."
        ),
        "Disabled/NodeHealthCheckEnabled": "Disabled=False when nothing is wrong.",
        "StormActive": "True while a storm prevents new requests, False when it is over.",
        "StormCooldownActive": (
            "True while the cooldown runs, False with its reason when it is cleared or completed."
        ),
        "lastTransitionTime": "Moves only when the status of the condition changes.",
    },
)

PHASES = Section(
    "NHC 1.4/",
    "NHC 1.4: phase and reason",
    {
        "Disabled": "Disabled, with reason and message of the condition, comes before all other phases.",
        "Paused": "Paused, with the pause requests joined by commas, comes before Remediating.",
        "Remediating": "Remediating while a listed node has a request; the reason counts all listed nodes.",
        "Enabled": "Enabled otherwise, also with unhealthy nodes that have no request.",
    },
)

SECTIONS = (FIELDS, CONDITIONS, PHASES)
