"""A story on each database."""

import pytest

from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    """Return a desk with the demo shop."""
    return tell_story(store, clock, ids)
