"""A story on each database, and what the auditors say of it when it is over."""

from collections.abc import Iterator

import pytest

from agent.steps.verify import verify
from storage.transaction import Store
from tests.support.agentack import faults_of
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Story]:
    """Yield a desk with the demo shop; at the end the trail holds, unless the story damaged it.

    Folded the trail gives the tables, and exported it passes the checker of approvals.
    """
    told = tell_story(store, clock, ids)
    yield told
    if not told.damaged:
        assert [str(problem) for problem in verify(told.desk).problems] == []
        assert faults_of(store) == []
