"""Where orders of the demo shop belong."""

from tests.support.desk import Story


def owner_of(story: Story, order: str) -> str:
    """Return whose order it is."""
    found = story.desk.shop.order(order)
    assert found is not None
    return found.customer_id
