"""A desk that dies, a line that breaks, a customer who stops: no answer looks whole that is not.

One desk on SQLite whose model takes its time for each word, behind a network that breaks.
"""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.outside import eventually
from tests.support.process import Chat, DeskProcess, running_desk
from tests.support.reader import Screen, patient_client, reads_on
from tests.support.tcp_proxy import TcpProxy, running_proxy

PACE_MS = 70


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskProcess]:
    """Run a desk whose answers take seconds."""
    env = {"OFFLINE_PACE_MS": str(PACE_MS), "SWEEP_INTERVAL_S": "1"}
    with running_desk(tmp_path_factory.mktemp("desk"), **env) as desk:
        yield desk
        assert desk.agent("audit", "verify").startswith("ok: ")


@pytest.fixture
def network(desk: DeskProcess) -> Iterator[TcpProxy]:
    """Run what lies between the customer and the desk."""
    with running_proxy(desk.port) as proxy:
        yield proxy


class Customer:
    """Somebody who watches the chat through the network."""

    def __init__(self, chat: Chat, client: httpx.Client) -> None:
        self.chat = chat
        self.client = client
        self.screen = Screen()

    def watches(self, until: str) -> bool:
        """Read on until the screen shows it; False when the line was cut."""
        shows = {
            "half an answer": lambda s: s.draft is not None and len(s.draft.split()) > 2,
            "nothing under way": lambda s: s.status == "idle",
            "an end that never comes": lambda _s: False,
        }
        return reads_on(self.client, self.chat.path, self.chat.who, self.screen, shows[until])

    def finishes(self) -> list[object]:
        """Return how each of the agent's answers ended."""
        data = [line["data"] for line in self.screen.lines]
        return [one["finish"] for one in data if one.get("role") == "agent"]


@pytest.fixture
def clara(desk: DeskProcess, network: TcpProxy) -> Iterator[Customer]:
    """Yield a customer in a new conversation."""
    with patient_client(network.url) as client:
        yield Customer(desk.opens_chat("cus_clara"), client)


def test_killed_in_the_middle_of_an_answer(desk: DeskProcess, clara: Customer) -> None:
    clara.chat.sends("where is ORD-1001?")
    assert clara.watches("half an answer")
    shown = clara.screen.draft
    assert shown
    desk.kill()
    # Nothing of it was stored as if it were an answer.
    stored = desk.rows("SELECT data FROM events WHERE data LIKE '%agent%'")
    assert stored == []
    assert not clara.watches("an end that never comes")
    desk.start()
    # The same customer of the same shop; the sandbox signs with a new key at each start.
    assert clara.watches("nothing under way")
    assert clara.finishes() == ["complete"]
    (answer,) = clara.screen.texts("agent")
    assert answer.startswith(shown.strip())
    assert clara.screen.doubled == 0
    assert clara.screen.lines == clara.chat.events()


def test_cut_in_the_middle_of_an_answer(network: TcpProxy, clara: Customer) -> None:
    clara.chat.sends("where is ORD-1001?")
    assert clara.watches("half an answer")
    network.cut()
    begun = clara.screen.begun
    # Who is back is told the answer so far, and then the rest of it as it comes.
    assert clara.watches("half an answer")
    assert clara.screen.begun == begun + 1
    assert clara.watches("nothing under way")
    assert clara.finishes() == ["complete"]
    assert clara.screen.drafts > 5


def test_stopped_in_the_middle_of_an_answer(desk: DeskProcess, clara: Customer) -> None:
    clara.chat.sends("refund $160 on ORD-1001")
    assert clara.watches("nothing under way")
    waiting = desk.parked(clara.chat.conversation_id)
    clara.chat.sends("where is ORD-1001?")
    assert clara.watches("half an answer")
    clara.chat.sends("hello")
    assert desk.post(f"{clara.chat.path}/stop", {}, clara.chat.who).status_code == 202
    eventually(lambda: clara.watches("nothing under way") and len(clara.finishes()) == 3, "answers")
    assert clara.finishes() == ["complete", "stopped", "complete"]
    cut, whole = clara.screen.texts("agent")[1:]
    assert 2 < len(cut.split()) < 40
    assert whole
    assert desk.approval(waiting["id"])["status"] == "pending"
    assert clara.screen.lines == clara.chat.events()


def test_a_desk_ends_in_time_with_an_answer_under_way(desk: DeskProcess, clara: Customer) -> None:
    clara.chat.sends("where is ORD-1001?")
    assert clara.watches("half an answer")
    # Nobody waits for the model to finish; the next start gives the whole answer.
    desk.stop()
    desk.start()
    assert clara.watches("nothing under way")
    assert clara.finishes() == ["complete"]
