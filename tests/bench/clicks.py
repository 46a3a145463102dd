"""The load that a whole desk must bear: signed clicks at a steady pace while many chats are open.

Each click is sent when its time has come, whether those before it were answered or not. Afterwards
the trail, the votes and the provider's book must say exactly what was clicked, and no more.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import quantiles
from threading import Event, local
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

import httpx
import jwt

from agent.domain.approvals import Approval, Status
from agent.providers.system import SystemClock
from bot.sandbox.cast import ANA, BEN, MAX, MIA, SAM
from bot.sandbox.slack_config import Person
from bot.sandbox.slack_delivery import FORM, sign
from storage import approvals
from tests.bench.cycle import bench_over
from tests.bench.streams import Streams
from tests.support.outside import Json, eventually
from tests.support.process import DeskProcess, made_desk
from tests.support.slack_sandbox import (
    APPROVALS,
    MOUNT,
    SIGNING_SECRET,
    Slack,
    real_clock,
    running_slack,
    running_stage,
)

PER_S, STREAMS = 50, 200
# Of each 25 clicks so many are of a kind.
MIX = {
    "approve": 3,
    "approve again, the same delivery": 3,
    "approve, too late": 5,
    "approve, not entitled": 3,
    "approve, another payload": 2,
    "open the details": 4,
    "open the form to reject": 2,
    "reject": 1,
    "reject, no reason": 2,
}
# Which of them the trail calls a refusal, and how.
REFUSED = {
    "approve, too late": "already_decided",
    "approve, not entitled": "not_allowed",
    "approve, another payload": "payload_changed",
    "reject, no reason": "reason_required",
}
_SECRET = "the shop's own secret, 32 bytes or more"
_TEAM = "T07SHOPSTRM"
_APPROVERS = (ANA, BEN, MIA, MAX)
_SENDERS = 48


@dataclass(frozen=True)
class Sent:
    """One click: its kind, how long the answer took in ms, and what is wrong with the answer."""

    kind: str
    ms: float
    wrong: str | None


@dataclass(frozen=True)
class Load:
    """What a load brought; `wrong` names every answer and every row that is not as it must be."""

    seconds: int
    took: list[float]
    kinds: dict[str, int]
    wrong: list[str]
    events: int
    # The share of one processor that the desk itself used while people clicked.
    busy: float

    def spread(self) -> str:
        """Return the middle, the edge and the end of the acknowledgement times."""
        cuts = quantiles(self.took, n=1000)
        return (
            f"p50 {cuts[499]:.1f} ms, p99 {cuts[989]:.1f} ms, p99.9 {cuts[998]:.1f} ms, "
            f"slowest of {len(self.took)} {max(self.took):.1f} ms"
        )


@dataclass
class Clicker:
    """Makes the clicks and sends them; `waiting` are requests that nobody has touched yet."""

    desk: DeskProcess
    waiting: Iterator[Approval]
    done: list[tuple[Approval, bytes]] = field(default_factory=list)
    approved: list[Approval] = field(default_factory=list)
    rejected: list[Approval] = field(default_factory=list)
    open: list[Approval] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _turn: "count[int]" = field(default_factory=count)
    _own: local = field(default_factory=local)

    def make(self, kind: str) -> tuple[bytes, Callable[[httpx.Response], str | None]]:
        """Return a body of Slack's, and what tells what is wrong with the answer to it."""
        who = _APPROVERS[next(self._turn) % len(_APPROVERS)]
        match kind:
            case "approve":
                approval = next(self.waiting)
                body = self._click(who, approval, "approval_approve")
                self.approved.append(approval)
                return body, self._noting(approval, body)
            case "approve again, the same delivery":
                return self.done[-1][1], _is_empty
            case "approve, too late":
                return self._click(who, self._ended(), "approval_approve"), _is_empty
            case "approve, not entitled":
                return self._click(SAM, self._still_open(), "approval_approve"), _is_empty
            case "approve, another payload":
                approval = self._still_open()
                return self._click(who, approval, "approval_approve", "0" * 16), _is_empty
            case "open the details":
                return self._click(who, self._still_open(), "approval_review"), _is_empty
            case "open the form to reject":
                return self._click(who, self._still_open(), "approval_reject"), _is_empty
            case "reject":
                approval = next(self.waiting)
                self.rejected.append(approval)
                return self._form(who, approval, "Too late for that"), _clears
            case _:
                return self._form(who, self._still_open(), "no"), _marks_the_reason

    def send(self, kind: str, body: bytes, judge: Callable[[httpx.Response], str | None]) -> Sent:
        """Send one request, signed as Slack signs it, and time the acknowledgement."""
        if not hasattr(self._own, "client"):
            self._own.client = httpx.Client(base_url=self.desk.url, timeout=10, trust_env=False)
        stamp = str(int(SystemClock().now().timestamp()))
        headers = {
            "content-type": FORM,
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": sign(SIGNING_SECRET, stamp, body),
        }
        started = perf_counter()
        try:
            answer = self._own.client.post("/slack/events", content=body, headers=headers)
        except httpx.HTTPError as error:
            return Sent(kind, (perf_counter() - started) * 1e3, f"{kind}: {error!r}")
        ms = (perf_counter() - started) * 1e3
        wrong = f"HTTP {answer.status_code}" if answer.status_code != httpx.codes.OK else None
        wrong = wrong or judge(answer)
        return Sent(kind, ms, None if wrong is None else f"{kind}: {wrong}")

    def _noting(self, approval: Approval, body: bytes) -> Callable[[httpx.Response], str | None]:
        def judge(answer: httpx.Response) -> str | None:
            self.done.append((approval, body))
            return _is_empty(answer)

        return judge

    def _ended(self) -> Approval:
        return self.done[-1][0]

    def _still_open(self) -> Approval:
        if not self.open:
            self.open.append(next(self.waiting))
        return self.open[0]

    def _click(
        self, who: Person, approval: Approval, action_id: str, shown: str | None = None
    ) -> bytes:
        number = next(self._numbers)
        action = {
            "type": "button",
            "action_id": action_id,
            "block_id": f"act:{approval.id}",
            "value": _target(approval, shown),
            "action_ts": f"{1_800_000_000 + number}.000001",
        }
        return _body(
            who,
            number,
            type="block_actions",
            container={"type": "message", "message_ts": "1800000000.1", "channel_id": APPROVALS},
            channel={"id": APPROVALS, "name": "refund-approvals"},
            # As Slack repeats the whole message; the desk reads nothing of it.
            message={"ts": "1800000000.1", "text": "x" * 6_000},
            actions=[action],
        )

    def _form(self, who: Person, approval: Approval, reason: str) -> bytes:
        number = next(self._numbers)
        values = {
            "category": {"value": {"type": "s", "selected_option": {"value": "other"}}},
            "reason": {"value": {"type": "plain_text_input", "value": reason}},
        }
        view = {
            "id": f"V{number}",
            "hash": f"{number}.x",
            "type": "modal",
            "callback_id": "reject_form",
            "private_metadata": _target(approval, None),
            "state": {"values": values},
        }
        return _body(who, number, type="view_submission", view=view)


def _target(approval: Approval, shown: str | None) -> str:
    named = {"v": 1, "id": approval.id, "rev": approval.revision}
    return json.dumps({**named, "h": shown or approval.short_hash()})


def _body(who: Person, number: int, **payload: Any) -> bytes:
    acting = {
        "user": {"id": who.slack_user_id, "team_id": _TEAM},
        "team": {"id": _TEAM},
        "trigger_id": f"{number}.trigger",
    }
    return urlencode({"payload": json.dumps({**acting, **payload})}).encode()


def _is_empty(answer: httpx.Response) -> str | None:
    return None if answer.text == "" else f"answered {answer.text[:100]!r}"


def _clears(answer: httpx.Response) -> str | None:
    return None if answer.json() == {"response_action": "clear"} else answer.text[:100]


def _marks_the_reason(answer: httpx.Response) -> str | None:
    marked = list(answer.json().get("errors", {}))
    return None if marked == ["reason"] else answer.text[:100]


# --- the whole


@contextmanager
def loaded_desk(folder: Path, number: int) -> Iterator[tuple[DeskProcess, Slack, list[Approval]]]:
    """Run a desk in which so many requests wait for people."""
    with ExitStack() as held:
        desk = held.enter_context(made_desk(folder))
        waiting = _park(desk.database_url, number)
        stage = held.enter_context(running_stage())
        events = f"{desk.url}/slack/events"
        slack = held.enter_context(running_slack(stage, folder, events, **real_clock()))
        desk.env = {
            **desk.env,
            "SLACK_BOT_TOKEN": slack.config.bot_token,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": f"{stage.url}{MOUNT}/api/",
            "SLACK_APPROVALS_CHANNEL": APPROVALS,
            "SLACK_ONCALL_CHANNEL": "C07ONCALL",
            "WIDGET_JWT_SECRET": _SECRET,
        }
        desk.start()
        yield desk, slack, waiting
        desk.stop()


def _park(url: str, number: int) -> list[Approval]:
    with bench_over(url) as bench:
        cases = [bench.case() for _ in range(number)]
        for case in cases:
            bench.parks(case)
        with bench.store.transaction(write=False) as tx:
            return list(approvals.page(tx, Status.PENDING, "", number))


def run_load(folder: Path, seconds: int, streams: int = STREAMS) -> Load:
    """Click for so many seconds and look afterwards at all that came of it."""
    kinds = _kinds(seconds * PER_S)
    fresh = sum(kind in {"approve", "reject"} for kind in kinds) + 1
    with loaded_desk(folder, max(fresh, streams)) as (desk, slack, waiting):
        chats = [(one.customer_id, one.conversation_id) for one in waiting[:streams]]
        clicker = Clicker(desk, iter(waiting))
        followed = Streams(desk.port, [(str(chat), _token(str(who))) for who, chat in chats])
        with followed.followed():
            used, began = desk.processor_s, perf_counter()
            sent = _click_all(clicker, kinds)
            busy = (desk.processor_s - used) / (perf_counter() - began)
            wrong = [one.wrong for one in sent if one.wrong is not None]
            wrong += _compare(desk, slack, clicker, kinds)
        took = [one.ms for one in sent]
        return Load(seconds, took, dict(Counter(kinds)), wrong, followed.events, busy)


def _token(customer: str) -> str:
    """Return what a customer signs in with, as the shop makes it."""
    now = int(SystemClock().now().timestamp())
    claims = {"sub": customer, "aud": "supportdesk", "iat": now, "exp": now + 600}
    return jwt.encode(claims, _SECRET, algorithm="HS256")


def _kinds(number: int) -> list[str]:
    """Return the kinds in turn, an approval first, spread as evenly as they can be."""
    places = [(place * 25 / share, kind) for kind, share in MIX.items() for place in range(share)]
    once = [kind for _, kind in sorted(places, key=lambda one: one[0])]
    return [once[place % len(once)] for place in range(number)]


def _click_all(clicker: Clicker, kinds: list[str]) -> list[Sent]:
    pause = Event()
    with ThreadPoolExecutor(_SENDERS) as senders:
        first, *rest = kinds
        # Something has been decided before anybody comes too late.
        pending = [senders.submit(clicker.send, first, *clicker.make(first))]
        pending[0].result()
        starts = perf_counter()
        for number, kind in enumerate(rest):
            pause.wait(max(0.0, starts + number / PER_S - perf_counter()))
            pending.append(senders.submit(clicker.send, kind, *clicker.make(kind)))
        return [one.result() for one in pending]


def _compare(desk: DeskProcess, slack: Slack, clicker: Clicker, kinds: list[str]) -> list[str]:
    """Return what differs between what was clicked and what the desk has made of it."""
    clicked = Counter(kinds)
    approved = sorted(one.id for one in clicker.approved)

    def settled() -> bool:
        rows = desk.rows("SELECT count(*) AS n FROM approvals WHERE status = 'executed'")
        return bool(rows[0]["n"] >= len(approved))

    eventually(settled, "execution of all that was approved", 120)
    found: list[tuple[str, object, object]] = []
    votes = desk.rows("SELECT approval_id, verdict FROM decisions ORDER BY approval_id")
    wanted = {(one.id, "approve") for one in clicker.approved}
    wanted |= {(one.id, "reject") for one in clicker.rejected}
    found.append(("votes", sorted(wanted), [(v["approval_id"], v["verdict"]) for v in votes]))
    paid = desk.rows("SELECT key FROM ledger_refunds WHERE key LIKE 'rd-%'")
    keys = sorted(f"rd-{one.removeprefix('apr_')}" for one in approved)
    found.append(("refunds", keys, sorted(row["key"] for row in paid)))
    facts = [json.loads(row["body"]) for row in desk.rows("SELECT body FROM audit")]
    codes = Counter(f["data"]["code"] for f in facts if f["type"] == "decision.refused")
    expected = {code: clicked[kind] for kind, code in REFUSED.items()}
    found.append(("refusals", expected, dict(codes)))
    acts = sum(fact["type"] == "slack.acted" for fact in facts)
    repeats = clicked["approve again, the same delivery"]
    found.append(("acts", len(kinds) - repeats, acts))
    # The triggers are not the stand-in's, so that it opens no form and the clicker is told so.
    losing = ("approve, too late", "approve, not entitled", "approve, another payload")
    told = sum(clicked[kind] for kind in (*losing, "open the details", "open the form to reject"))
    # A private word arrives at least once: Slack knows no other way of saying it again.
    with suppress(AssertionError):
        eventually(lambda: _whispers(desk, slack) >= told, "every word", 60)
    found.append(("words to those who lost", told, min(told, _whispers(desk, slack))))
    return [
        f"{what}: {str(got)[:200]} instead of {str(want)[:200]}"
        for what, want, got in found
        if want != got
    ]


def _whispers(desk: DeskProcess, slack: Slack) -> int:
    """Return how many private words have arrived or are on their way."""
    on_their_way = desk.rows("SELECT count(*) AS n FROM outbox WHERE kind = 'ephemeral'")
    messages: list[Json] = slack.look("/messages", channel=APPROVALS)
    arrived = sum(message["ephemeral_for"] is not None for message in messages)
    return int(on_their_way[0]["n"]) + arrived
