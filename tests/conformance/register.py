"""All rules: by section and row of the contract of each kind of check, and our own rules by number."""

from tests.conformance import (
    behaviour_of_detection,
    behaviour_of_life,
    behaviour_of_remediation,
    cluster_api_behaviour,
    cluster_api_contract,
    contract_of_the_events,
    contract_of_the_signs,
    contract_of_the_spec,
    contract_of_the_status,
    machines_behaviour,
    machines_contract,
    rules_from_the_field,
    rules_on_cluster_api,
    rules_on_machines,
    rules_on_nodes,
    rules_on_safety,
    rules_on_trust,
    upgrade_pause_behaviour,
)

SECTIONS = (
    *contract_of_the_spec.SECTIONS,
    *contract_of_the_status.SECTIONS,
    *contract_of_the_events.SECTIONS,
    *contract_of_the_signs.SECTIONS,
    *behaviour_of_detection.SECTIONS,
    *behaviour_of_remediation.SECTIONS,
    *behaviour_of_life.SECTIONS,
    *machines_contract.SECTIONS,
    *machines_behaviour.SECTIONS,
    *cluster_api_contract.SECTIONS,
    *cluster_api_behaviour.SECTIONS,
    *upgrade_pause_behaviour.SECTIONS,
    *rules_on_safety.SECTIONS,
    *rules_on_nodes.SECTIONS,
    *rules_on_machines.SECTIONS,
    *rules_on_cluster_api.SECTIONS,
    *rules_on_trust.SECTIONS,
    *rules_from_the_field.SECTIONS,
)
RULES = tuple(rule for section in SECTIONS for rule in section.rules())
BY_ID = {rule.id: rule for rule in RULES}


def complaint(rule_id: object) -> str:
    """Return why a test cannot prove this rule, "" if it can."""
    if rule_id not in BY_ID:
        return f"there is no rule {rule_id!r}; the rules stand in tests/conformance"
    reason = BY_ID[str(rule_id)].not_applicable
    return f"rule {rule_id!r} does not apply: {reason}" if reason else ""
