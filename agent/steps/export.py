"""The trail leaves the desk: every event as it is hashed, or the story in a checker's words."""

import json
from collections.abc import Iterator
from datetime import datetime

from agent.domain.agentack import Recorder, Session, Trace
from agent.domain.agentack_life import Evidence, Sent
from agent.domain.trail import TrailEvent, check_events
from agent.steps.verify import to_event
from storage import audit
from storage.audit import Span, StoredFact
from storage.audit_rows import StoredApproval, stored_approvals
from storage.times import to_micros
from storage.transaction import Store

_WHOLE = "supportdesk"


def export_events(store: Store, span: Span) -> Iterator[str]:
    """Yield one JSON line an event, chain by chain, in order: `body` is the text that is hashed.

    Read page by page, so that a slow reader keeps no transaction open; what is appended meanwhile
    to chains that were written already is not in it.
    """
    last: StoredFact | None = None
    while facts := _page(store, span, last):
        for fact in facts:
            yield _line(to_event(fact))
        last = facts[-1]


def export_trace(store: Store, span: Span, now: datetime) -> Trace:
    """Return the trace of the requests that were proposed in the span."""
    recorder = Recorder()
    with store.transaction(write=False) as tx:
        audit.freeze(tx)
        facts = audit.walk(tx, Span(run_id=span.run_id))
        check_events((to_event(fact) for fact in facts), recorder)
        evidence = {str(row.id): _evidence(row) for row in stored_approvals(tx)}
    since, until = span.bounds()
    session = Session(span.run_id or _WHOLE, to_micros(now), since, until)
    return recorder.trace(evidence, session)


def _page(store: Store, span: Span, last: StoredFact | None) -> tuple[StoredFact, ...]:
    with store.transaction(write=False) as tx:
        return audit.page(tx, span, last)


def _line(event: TrailEvent) -> str:
    return json.dumps(
        {
            "chain": event.chain,
            "seq": event.seq,
            "at": event.at,
            "type": event.type,
            "approval_id": event.approval_id,
            "body": event.body,
            "hash": event.hash,
        }
    )


def _evidence(row: StoredApproval) -> Evidence:
    return Evidence(
        tool=row.tool,
        payload_text=row.payload_text,
        policy_version=row.policy_version,
        use_by=row.use_by,
        shown={(vote.actor_id, vote.verdict): vote.shown_hash for vote in row.votes},
        sent=tuple(Sent(one.number, one.key, one.request) for one in row.sent),
    )
