"""`agent policy …`: what the policy says, and what another one would have made of the past."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Literal, TypeAlias

import click

from agent.domain.money import money_json
from agent.domain.policy import Policy
from agent.domain.policy_sections import Table, policy_sections
from agent.domain.policy_text import policy_markdown
from agent.domain.policy_trial import Change, Compared, Judgement, Tally
from agent.domain.risk import Park, Refuse, RunNow
from agent.domain.roles import Channel, Tier
from agent.steps.policy_try import Trial, try_policy
from bot.cli_text import json_text, pairs, table, visible
from bot.cli_world import World
from bot.settings import (
    SHIPPED_POLICY,
    Settings,
    load_policy,
    load_settings,
    overrides,
    policy_file,
)
from bot.shapes import rfc3339

Format: TypeAlias = Literal["table", "markdown", "json"]

_CHANGES: dict[Change, str] = {
    Change.NONE: "same",
    Change.OTHER_REASONS: "other reasons",
    Change.RUNS: "would run",
    Change.WAITS: "would wait",
    Change.REFUSED: "would be refused",
    Change.OTHER_PEOPLE: "other people",
}
NOTES = (
    (
        "Each proposal is judged alone, as things stood at its moment: what an earlier difference "
        "would have changed for a later proposal is not played through."
    ),
    (
        "Counted anew as of then: automatic refunds on the order and to the customer, an earlier "
        "no, how many requests waited, the stop switch, whether the breaker was open."
    ),
    (
        "Taken from the record, not counted anew: whether the wish was clear, whether the "
        "customer's automatic path was paused, whether an e-mail went to their own address."
    ),
    (
        "Not replayed: how often the breaker would have opened with other numbers; what people "
        "would have decided, or decided in time; reviews."
    ),
    (
        "Of what was refused, too_many_open and breaker_open are judged again. Other refusals are "
        "left out: they follow from the order, the arguments, or everything being stopped."
    ),
)


@click.group()
def policy() -> None:
    """Show the policy, or try another one."""


@policy.command()
@click.option(
    "--format",
    "shape",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="markdown is what POLICY.md holds.",
)
def show(shape: Format) -> None:
    """Show the policy that a desk started now would follow.

    It is read from the policy file and the environment; a wrong one is refused as at the start.
    """
    settings = load_settings()
    found = load_policy(settings)
    match shape:
        case "table":
            click.echo(_as_table(found, settings))
        case "markdown":
            click.echo(policy_markdown(found, tuple(_changes(settings))), nl=False)
        case "json":
            content = found.model_dump(mode="json")
            click.echo(json_text({**_source(found, settings), "policy": content}))


@policy.command("try")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--days", type=click.IntRange(1, 3650), default=30, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def try_file(world: World, file: Path, days: int, *, as_json: bool) -> None:
    """Show what the policy in FILE would have decided differently.

    Every proposal of the last days is judged again. Nothing is executed or changed; that the
    policy was tried is noted in the trail. What the environment overrides, it overrides in FILE
    as well.
    """
    settings = load_settings().model_copy(update={"policy_file": file})
    trial = Trial(load_policy(settings), days, world.identity(), Channel.CLI)
    with world.open_desk() as desk:
        if not as_json:
            tally = try_policy(desk, trial, lambda one: click.echo(visible(difference_text(one))))
            click.echo(_totals(trial, settings, tally))
            return
        # Piece by piece: there may be as many differences as proposals.
        gap = ""
        click.echo('{"differences": [', nl=False)

        def tell(one: Compared) -> None:
            nonlocal gap
            click.echo(f"{gap}\n{json_text(_difference_json(one))}", nl=False)
            gap = ","

        tally = try_policy(desk, trial, tell)
        click.echo(f"\n],\n{json_text(_totals_json(trial, settings, tally))[1:]}")


def difference_text(one: Compared) -> str:
    """Return a difference in one line, e.g. `apr_… 2026-11-29 issue_refund …: ran -> …`."""
    past, whom = one.past, one.change is Change.OTHER_PEOPLE
    money = "" if past.amount is None else f" {past.amount.plain()} {past.amount.currency}"
    before = _words(past.recorded, ("ran", "waited", "was refused"), whom=whom)
    now = _words(one.now, ("would run", "would wait", "would be refused"), whom=whom)
    return f"{past.id} {past.at:%Y-%m-%d} {past.tool}{money}: {before} -> {now}"


def _words(judgement: Judgement, said: tuple[str, str, str], *, whom: bool) -> str:
    ran, waited, refused = said
    match judgement:
        case RunNow():
            return ran
        case Park(findings=findings, tier=tier):
            reasons = ", ".join(finding.code for finding in findings)
            return f"{waited} ({reasons}{f'; {_needs(tier)}' if whom else ''})"
        case Refuse(code=code):
            return f"{refused} ({code})"


def _needs(tier: Tier) -> str:
    return f"{tier.approvals_needed} x {tier.role}"


def _totals(trial: Trial, settings: Settings, tally: Tally) -> str:
    rows: list[tuple[str, object]] = [
        ("policy", trial.policy.version),
        ("file", settings.policy_file),
        *(("environment", change) for change in _changes(settings)),
        ("days", trial.days),
        ("judged", tally.judged),
    ]
    for change, name in _CHANGES.items():
        sums = ", ".join(str(money) for money in tally.sums(change))
        rows.append((name, f"{tally.counts[change]}{f'  {sums}' if sums else ''}"))
    rows.append(("unreadable", tally.unreadable))
    return pairs([*rows, *(("note", note) for note in NOTES)])


def _totals_json(trial: Trial, settings: Settings, tally: Tally) -> dict[str, object]:
    return {
        **_source(trial.policy, settings),
        "days": trial.days,
        "judged": tally.judged,
        "unreadable": tally.unreadable,
        "totals": {
            change.value: {
                "proposals": tally.counts[change],
                "money": {money.currency: money.plain() for money in tally.sums(change)},
            }
            for change in _CHANGES
        },
        "notes": NOTES,
    }


def _difference_json(one: Compared) -> dict[str, object]:
    past = one.past
    return {
        "id": past.id,
        "at": rfc3339(past.at),
        "tool": past.tool,
        "amount": None if past.amount is None else money_json(past.amount),
        "change": one.change.value,
        "before": _judgement_json(past.recorded),
        "now": _judgement_json(one.now),
    }


def _judgement_json(judgement: Judgement) -> dict[str, object]:
    match judgement:
        case RunNow():
            return {"verdict": "run"}
        case Park(findings=findings, tier=tier):
            reasons = [finding.code.value for finding in findings]
            needs = {"role": tier.role.value, "approvals": tier.approvals_needed}
            return {"verdict": "wait", "reasons": reasons, "needs": needs}
        case Refuse(code=code):
            return {"verdict": "refuse", "code": code.value}


def _as_table(found: Policy, settings: Settings) -> str:
    head: list[tuple[str, object]] = [
        ("version", found.version),
        ("file", _file(settings)),
        *(("environment", change) for change in _changes(settings)),
    ]
    parts = [pairs(head)]
    for section in policy_sections(found):
        tables = [block for block in section.blocks if isinstance(block, Table)]
        parts += [f"{section.title}\n{_indented(one)}" for one in tables]
    return "\n\n".join(parts)


def _indented(one: Table) -> str:
    return indent(table([name.upper() for name in one.header], one.rows), "  ")


def _source(found: Policy, settings: Settings) -> dict[str, object]:
    file = policy_file(settings)
    return {
        "version": found.version,
        "file": str(_file(settings)),
        "environment": [
            {
                "name": override.name,
                "entry": override.entry,
                "value": override.value,
                "file_value": file.value(override.entry),
            }
            for override in overrides(settings)
        ],
    }


def _file(settings: Settings) -> Path:
    return settings.policy_file or SHIPPED_POLICY


def _changes(settings: Settings) -> Iterator[str]:
    """Yield a sentence for each thing that the environment changes in the file."""
    changes = overrides(settings)
    file = policy_file(settings) if changes else None
    for change in changes:
        before = None if file is None else file.value(change.entry)
        said = "says nothing" if before is None else f"says {before}"
        if str(before) == str(change.value):
            said = "says so too"
        yield f"{change.name} sets {change.entry} to {change.value}; the file {said}"
