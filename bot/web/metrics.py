"""Numbers for Prometheus: what stands now is read at the scrape, decisions are counted."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from agent.desk import Desk
from agent.domain.approvals import Status
from agent.domain.breaker import BreakerState, shown_state
from agent.domain.decision import DecideAnswer, Decision, Refused
from storage import approvals, breaker, outbox

COUNTED = "counted"


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

    def count_decision(self, decision: Decision, answer: DecideAnswer) -> None:
        """Count one answer of `decide`, whichever door the decision came through."""
        code = answer.code.value if isinstance(answer, Refused) else COUNTED
        self._decisions.labels(decision.verdict.value, decision.channel.value, code).inc()

    def text(self) -> bytes:
        """Return the numbers in Prometheus's text format."""
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
            pending, oldest = approvals.count(tx, Status.PENDING)
            unknown, _ = approvals.count(tx, Status.UNKNOWN)
            switch = breaker.load(tx)
            stuck = outbox.stuck(tx)
        now = self._desk.clock.now()
        age = 0.0 if oldest is None else max((now - oldest).total_seconds(), 0.0)
        for name, words, value in (
            ("approvals_pending", "Approvals that wait for people.", pending),
            ("approvals_oldest_pending_seconds", "Age of the oldest of them.", age),
            ("approvals_unknown", "Executions whose outcome is not known.", unknown),
            ("outbox_stuck", "Slack messages that keep failing.", stuck),
            ("stopped", "Whether everything is stopped.", int(switch.stopped)),
        ):
            yield GaugeMetricFamily(f"supportdesk_{name}", words, value=value)
        states = GaugeMetricFamily(
            "supportdesk_breaker_state", "1 for the state the breaker is in.", labels=("state",)
        )
        for state in BreakerState:
            states.add_metric((state.value,), int(shown_state(switch, now) is state))
        yield states
