"""The numbers of a day and a week as a table that every client shows; pure."""

from datetime import timedelta

from agent.domain.stats import Act, Outcome, Tally, Waits
from agent.steps.queue import Numbers
from bot.slack.blocks import (
    Block,
    bullets,
    code_block,
    context,
    line,
    moment_token,
    ours,
    rich,
    word,
)
from bot.slack.text import clip, visible

_NAME, _PEOPLE = 60, 40
_LABELS = {
    Outcome.DONE: "Approved and done",
    Outcome.FAILED: "Approved, but failed",
    Outcome.STALE: "Approved, but held back",
    Outcome.REVOKED: "Approved, then called off",
    Outcome.REJECTED: "Rejected",
    Outcome.EDITED: "Edited",
    Outcome.EXPIRED: "Nobody decided in time",
    Outcome.UNSEEN: "Nobody could see it in time",
    Outcome.WITHDRAWN: "Withdrawn",
}
_DID = {"approve": "approved", "reject": "rejected", "edit": "edited"}


def number_blocks(numbers: Numbers) -> list[Block]:
    """Return the numbers as blocks of a message or a modal."""
    today, week = numbers.today, numbers.week
    rows = [("", "Today", "7 days"), *_outcomes(today, week), *_waits(today, week)]
    return [
        rich(line(word("How requests ended", "bold")), code_block(_table(rows))),
        *_people(numbers.people),
        context(ours(_now(numbers))),
    ]


def number_words(numbers: Numbers) -> str:
    """Return the numbers of the day in a sentence, for a notification."""
    outcomes = numbers.today.outcomes
    late = outcomes[Outcome.EXPIRED] + outcomes[Outcome.UNSEEN]
    return (
        f"Ended today: {numbers.today.asked}, of them {outcomes[Outcome.DONE]} done, "
        f"{outcomes[Outcome.REJECTED]} rejected, {late} that nobody decided in time. "
        f"Waiting now: {numbers.pending}."
    )


def duration(length: timedelta) -> str:
    """Return a length of time in the two units that matter, e.g. `2 h 05 min`."""
    minutes, seconds = divmod(round(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def _outcomes(today: Tally, week: Tally) -> list[tuple[str, str, str]]:
    """Return a row for each way to end that occurred; approvals, no and time-outs stand always."""
    always = {Outcome.DONE, Outcome.REJECTED, Outcome.EXPIRED}
    return [
        *(
            (_LABELS[outcome], f"{today.outcomes[outcome]:,}", f"{week.outcomes[outcome]:,}")
            for outcome in Outcome
            if outcome in always or week.outcomes[outcome]
        ),
        ("Ran without a person", f"{today.ran.done:,}", f"{week.ran.done:,}"),
        *(
            [("Ran without, and failed", f"{today.ran.failed:,}", f"{week.ran.failed:,}")]
            if week.ran.failed
            else []
        ),
    ]


def _waits(today: Tally, week: Tally) -> list[tuple[str, str, str]]:
    def told(waits: Waits | None, length: str) -> str:
        return "-" if waits is None else duration(getattr(waits, length))

    return [
        ("", "", ""),
        ("Half were answered within", told(today.waits, "median"), told(week.waits, "median")),
        ("Nine of ten within", told(today.waits, "p90"), told(week.waits, "p90")),
    ]


def _table(rows: list[tuple[str, str, str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        f"{label:<{widths[0]}}  {today:>{widths[1]}}  {week:>{widths[2]}}".rstrip()
        for label, today, week in rows
    )


def _people(acts: tuple[Act, ...] | None) -> list[Block]:
    """Return who did how much in seven days, where the reader may know."""
    if not acts:
        return []
    done: dict[str, list[str]] = {}
    for act in acts:
        did = _DID.get(act.verdict) or clip(visible(act.verdict), _NAME)
        done.setdefault(act.name, []).append(f"{act.number:,} {did}")
    named = [
        line(word(clip(visible(name), _NAME), "bold"), word(f"  {', '.join(told)}"))
        for name, told in sorted(done.items())[:_PEOPLE]
    ]
    return [rich(line(word("Who decided, in 7 days", "bold")), bullets(*named))]


def _now(numbers: Numbers) -> str:
    checked = f" {numbers.unknown:,} being checked." if numbers.unknown else ""
    since = moment_token(numbers.today.since)
    return f"Now {numbers.pending:,} waiting.{checked} Today is since {since}."
