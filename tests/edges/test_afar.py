"""What one replica calls out of an answer, and what the others make of it when a piece is lost."""

from pathlib import Path

import pytest
from typing_extensions import override

from agent.domain.conversation import MAX_ANSWER_CHARACTERS
from agent.domain.ids import ConversationId, RunId
from bot.web.afar import Afar
from bot.web.hub import Hub, StoredLogs
from storage.engine import open_engine
from storage.hints import Hints, hints_of
from storage.transaction import Store

CHAT, RUN, NEXT_RUN = ConversationId("cnv_1"), RunId("run_1"), RunId("run_2")


class Screen(Hub):
    """A hub that keeps what it was to show; None where it was to show no more."""

    def __init__(self, store: Store) -> None:
        super().__init__(StoredLogs(store))
        self.shown: list[str | None] = []

    @override
    def show(
        self, conversation_id: ConversationId, run_id: RunId, so_far: str, *, is_far: bool = False
    ) -> None:
        self.shown.append(so_far)

    @override
    def hide(self, conversation_id: ConversationId) -> None:
        self.shown.append(None)


class Air(Hints):
    """What was called out; while it is gone, calling fails."""

    def __init__(self, store: Store, url: str) -> None:
        super().__init__(store, open_engine(url))
        self.hints: list[str] = []
        self.is_gone = False

    @override
    def send(self, hint: str) -> None:
        if self.is_gone:
            raise ConnectionError("the database is away")
        assert len(hint.encode()) < 8_000
        self.hints.append(hint)


@pytest.fixture
def air(tmp_path: Path) -> Air:
    url = f"sqlite:///{tmp_path / 'unused.db'}"
    store = Store(open_engine(url))
    assert hints_of(store, open_engine(url)) is None
    return Air(store, url)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(open_engine(f"sqlite:///{tmp_path / 'unused.db'}"))


def test_an_answer_is_put_together_at_the_others(air: Air, store: Store) -> None:
    here, there = Screen(store), Screen(store)
    maker, other = Afar(here, air, "srv-a"), Afar(there, air, "srv-b")
    longest = "\U0001fa91" * MAX_ANSWER_CHARACTERS
    for so_far in ("Hello", "Hello there", "Anew", longest):
        maker.show(CHAT, RUN, so_far)
    maker.hide(CHAT)
    maker.hide(CHAT)
    for hint in air.hints:
        maker.hear(hint)
        other.hear(hint)
    assert here.shown == ["Hello", "Hello there", "Anew", longest, None, None]
    assert there.shown[:3] == ["Hello", "Hello there", "Anew"]
    assert there.shown[-2:] == [longest, None]


def test_who_misses_a_piece_shows_nothing_wrong(air: Air, store: Store) -> None:
    there = Screen(store)
    maker, other = Afar(Screen(store), air, "srv-a"), Afar(there, air, "srv-b")
    maker.show(CHAT, RUN, "Your chair ")
    air.is_gone = True
    maker.show(CHAT, RUN, "Your chair is ")
    air.is_gone = False
    maker.show(CHAT, RUN, "Your chair is on its way.")
    maker.show(CHAT, NEXT_RUN, "Anything else?")
    for hint in air.hints:
        other.hear(hint)
    assert there.shown == ["Your chair ", "Anything else?"]
