"""Numbers for Prometheus: what stands now is read at the scrape, decisions are counted."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from agent.desk import Desk
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Status
from agent.domain.breaker import Breaker, BreakerState, shown_state
from agent.domain.conversation import MAX_RATING, MIN_RATING
from agent.domain.decision import DecideAnswer, Decision, Refused
from agent.domain.reviews import ReviewState
from storage import (
    alerts,
    approvals,
    asks,
    breaker,
    conversations,
    decisions,
    deliveries,
    hand_offs,
    places,
    reviews,
)
from storage.breaker import BreakerMissing
from storage.transaction import Tx

COUNTED = "counted"
# How what was carried out, or not any more, has ended; `unknown` still may end either way.
_OUTCOMES = (Status.EXECUTED, Status.FAILED, Status.UNKNOWN, Status.STALE)


class WebhookAnswer(StrEnum):
    """What became of a request to the webhook."""

    HEARD = "heard"
    REPEAT = "repeat"
    BAD_SIGNATURE = "bad_signature"
    INVALID = "invalid"


class Metrics:
    """One process's numbers, in a registry of their own."""

    def __init__(self, desk: Desk) -> None:
        """Register everything; nothing is read before the first scrape."""
        self._registry = CollectorRegistry()
        self._registry.register(_State(desk))
        self._decisions = Counter(
            "supportdesk_decisions",
            "Decisions of people; code is `counted` or why the decision did not count.",
            ("verdict", "channel", "code"),
            registry=self._registry,
        )
        self._webhooks = Counter(
            "supportdesk_webhooks",
            "Requests to the payment provider's webhook by what became of them.",
            ("answer",),
            registry=self._registry,
        )

        self._streams = Gauge(
            "supportdesk_chat_streams_open",
            "Chats that are watched at this process now.",
            registry=self._registry,
        )

    def count_decision(self, decision: Decision, answer: DecideAnswer) -> None:
        """Count one answer of `decide`, whichever door the decision came through."""
        code = answer.code.value if isinstance(answer, Refused) else COUNTED
        self._decisions.labels(decision.verdict.value, decision.channel.value, code).inc()

    def count_webhook(self, answer: WebhookAnswer) -> None:
        """Count one request to the webhook of payments; a forged one leaves no other mark."""
        self._webhooks.labels(answer.value).inc()

    def text(self, open_streams: int) -> bytes:
        """Return the numbers in Prometheus's text format."""
        self._streams.set(open_streams)
        return generate_latest(self._registry)


class _State(Collector):
    """Gauges of what the database holds now, over all replicas."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def describe(self) -> Iterator[Metric]:
        """Yield nothing, so that registering asks the database nothing."""
        yield from ()

    @override
    def collect(self) -> Iterator[Metric]:
        with self._desk.store.transaction(write=False) as tx:
            found = [*_approvals(tx, self._desk.clock.now()), *_reviews(tx), *_questions(tx)]
            found += _slack(tx, self._desk.clock.now())
            found += [*_hand_offs(tx), _ratings(tx)]
            open_alerts = alerts.counts(tx)
            switch = _breaker(tx)
        yield _alerts(open_alerts)
        yield from found
        yield from _switch(switch, self._desk.clock.now())


def _approvals(tx: Tx, now: datetime) -> Iterator[Metric]:
    pending, oldest = approvals.count(tx, Status.PENDING)
    age = 0.0 if oldest is None else max((now - oldest).total_seconds(), 0.0)
    number = approvals.counts(tx)
    yield _gauge("approvals_pending", "Approvals that wait for people.", pending)
    yield _gauge("approvals_oldest_pending_seconds", "Age of the oldest of them.", age)
    yield _gauge(
        "approvals_unknown", "Executions whose outcome is not known.", number[Status.UNKNOWN]
    )
    yield _gauge("approvals_rejected", "Approvals that people rejected.", number[Status.REJECTED])
    yield _gauge(
        "approvals_expired", "Approvals that nobody decided in time.", number[Status.EXPIRED]
    )
    yield _gauge(
        "approvals_expired_unseen", "Those of them that nobody could see.", approvals.unseen(tx)
    )
    alone = decisions.count_broken_glass(tx)
    yield _gauge("broken_glass", "Approvals by one person on call alone, above the tier.", alone)
    ends = GaugeMetricFamily(
        "supportdesk_executions", "Approved effects by what became of them.", labels=("outcome",)
    )
    for status in _OUTCOMES:
        ends.add_metric((status.value,), number[status])
    yield ends


def _reviews(tx: Tx) -> Iterator[Metric]:
    number = reviews.counts(tx)
    states = GaugeMetricFamily(
        "supportdesk_reviews", "Automatic effects in the review queue.", labels=("state",)
    )
    for state in ReviewState:
        states.add_metric((state.value,), number[state])
    yield states
    flagged, right = number[ReviewState.FLAGGED], number[ReviewState.RIGHT]
    if flagged + right:
        # What ran although a person should have been asked; without answers there is no rate.
        yield _gauge(
            "review_false_negative_ratio",
            "Share of the answered reviews that were flagged.",
            flagged / (flagged + right),
        )


def _slack(tx: Tx, now: datetime) -> Iterator[Metric]:
    stuck, (number, oldest) = deliveries.stuck(tx), deliveries.waiting(tx)
    yield _gauge("outbox_stuck", "Messages that keep failing.", stuck)
    yield _gauge("slack_messages_waiting", "Messages that are to leave for Slack.", number)
    age = 0.0 if oldest is None else max((now - oldest).total_seconds(), 0.0)
    yield _gauge("slack_oldest_waiting_seconds", "Age of the oldest of them.", age)
    trouble = GaugeMetricFamily(
        "supportdesk_slack_trouble",
        "1 for a place in Slack that takes no messages; `*` is Slack as a whole.",
        labels=("place",),
    )
    for name, place in places.troubled(tx).items():
        if place.in_trouble:
            trouble.add_metric((name,), 1)
    yield trouble


def _alerts(number: dict[AlertKind, int]) -> Metric:
    kinds = GaugeMetricFamily(
        "supportdesk_alerts_open", "Alerts for people on call that are not over.", labels=("kind",)
    )
    for kind in AlertKind:
        kinds.add_metric((kind.value,), number[kind])
    return kinds


def _hand_offs(tx: Tx) -> Iterator[Metric]:
    lasting, waiting = hand_offs.count_open(tx), hand_offs.count_unattended(tx)
    yield _gauge("hand_offs_waiting", "Customers who were promised a person.", waiting)
    yield _gauge("hand_offs_attended", "Customers whom a person answers.", lasting - waiting)


def _questions(tx: Tx) -> Iterator[Metric]:
    number, answered = asks.counts(tx)
    yield _gauge("questions_asked", "Questions of approvers to customers and the agent.", number)
    yield _gauge("questions_answered", "Those of them that were answered.", answered)


def _ratings(tx: Tx) -> Metric:
    number = conversations.ratings(tx)
    scores = GaugeMetricFamily(
        "supportdesk_ratings", "Conversations by what the customer rated them.", labels=("score",)
    )
    for score in range(MIN_RATING, MAX_RATING + 1):
        scores.add_metric((str(score),), number.get(score, 0))
    return scores


def _breaker(tx: Tx) -> Breaker | None:
    try:
        return breaker.load(tx)
    except BreakerMissing:
        return None


def _switch(switch: Breaker | None, now: datetime) -> Iterator[Metric]:
    """Yield how breaker and stop switch stand; without their row only that it is missing."""
    missing = int(switch is None)
    yield _gauge("breaker_missing", "Whether the breaker's row is gone: nothing runs.", missing)
    if switch is None:
        return
    yield _gauge("stopped", "Whether everything is stopped.", int(switch.stopped))
    states = GaugeMetricFamily(
        "supportdesk_breaker_state", "1 for the state the breaker is in.", labels=("state",)
    )
    for state in BreakerState:
        states.add_metric((state.value,), int(shown_state(switch, now) is state))
    yield states


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(f"supportdesk_{name}", words, value=value)
