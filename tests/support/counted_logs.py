"""Logs that count how often the hub reads them."""

from typing_extensions import override

from agent.domain.conversation import LogEvent
from agent.domain.ids import ConversationId
from bot.web.hub import StoredLogs
from storage.conversations import Standing
from storage.transaction import Store


class CountedLogs(StoredLogs):
    """The logs in the database; the first look fails where it is told to.

    `looks` are the conversations of each look, `pages` how often the events of one were read.
    """

    def __init__(self, store: Store, *, is_away: bool = False) -> None:
        """Begin to count."""
        super().__init__(store)
        self.is_away = is_away
        self.looks: list[frozenset[ConversationId]] = []
        self.pages = 0

    @override
    def standings(self, watched: frozenset[ConversationId]) -> dict[ConversationId, Standing]:
        """Count a look."""
        self.looks.append(watched)
        if self.is_away:
            self.is_away = False
            raise ConnectionError("the database is away")
        return super().standings(watched)

    @override
    def page(self, conversation_id: ConversationId, after: int) -> tuple[LogEvent, ...]:
        """Count a page."""
        self.pages += 1
        return super().page(conversation_id, after)
