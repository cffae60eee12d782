"""Writes the longest back-off into the policy of a control plane on the laptop."""

from datetime import timedelta

from devcluster.errors import OptionsError
from health.policy.policy_document import KEY, POLICY, StoredPolicy
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import CONFIG_MAPS
from runtime.process_names import NAMESPACE


async def write_back_off_limit(client: Client, limit: timedelta) -> None:
    """Create the policy with this limit alone.

    Raises:
        SettingsError: the cluster has another policy, which a person may have written.

    """
    text = f"backOffLimit: {limit.total_seconds():g}s\n"
    try:
        await client.create(CONFIG_MAPS, {"metadata": {"name": POLICY}, "data": {KEY: text}}, NAMESPACE)
    except AlreadyExists as error:
        found = StoredPolicy.model_validate(await client.get(CONFIG_MAPS, POLICY, NAMESPACE))
        if found.data != {KEY: text}:
            advice = f"write backOffLimit into its {KEY}, and leave the option out"
            raise OptionsError(f"--back-off-limit: {found} exists with another policy: {advice}") from error
