"""Waits for the hold of an incident."""

from tests.support.story.world import World


async def until_held(world: World, node: str, *words: str) -> None:
    """Wait until the incident of a node is held, with all these words in its details."""

    async def is_held() -> bool:
        if not await world.has_incident(node):
            return False
        state = await world.state(node)
        return state.phase == "Held" and all(word in state.details for word in words)

    await world.until(is_held, f"{node} was never held with {words}")
