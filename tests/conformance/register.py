"""All rules: by section and row of the contract of each kind of check, and our own rules by number."""

from tests.conformance import (
    cluster_api_checks,
    node_health_check_behaviour,
    node_health_check_contract,
    openshift_checks,
    own_rules,
)

REFERENCES = {
    "NodeHealthCheck operator": (
        *node_health_check_contract.SECTIONS,
        *node_health_check_behaviour.SECTIONS,
    ),
    "MachineHealthCheck of OpenShift": openshift_checks.SECTIONS,
    "MachineHealthCheck of Cluster API": cluster_api_checks.SECTIONS,
    "Our own rules": own_rules.SECTIONS,
}
"""The sections of each reference, by its heading on the page."""
SECTIONS = tuple(section for sections in REFERENCES.values() for section in sections)
RULES = tuple(rule for section in SECTIONS for rule in section.rules())
BY_ID = {rule.id: rule for rule in RULES}


def complaint(rule_id: object) -> str | None:
    """Return why a test cannot prove this rule, None if it can."""
    if rule_id not in BY_ID:
        return f"there is no rule {rule_id!r}; tests/conformance lists the rules"
    reason = BY_ID[str(rule_id)].not_applicable
    return f"rule {rule_id!r} does not apply: {reason}" if reason else None
