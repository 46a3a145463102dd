"""The policy: limits, tiers, deadlines and breaker numbers, typed and versioned by its hash."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, time, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from string import Formatter
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from agent.domain.breaker import BreakerLimits
from agent.domain.errors import InvalidInput
from agent.domain.mail_text import is_mail_line, is_mail_text
from agent.domain.money import Money, exponent, parse_money
from agent.domain.roles import Role, Tier
from agent.domain.working_time import BusinessHours, Schedule


def _decimal_share(text: str) -> str:
    value = Decimal(text)
    if not 0 <= value <= 1:
        raise ValueError("must lie between 0 and 1")
    return text


def _effect_tool(name: str) -> str:
    if name not in EFFECT_TOOLS:
        raise ValueError(f"is not one of {', '.join(sorted(EFFECT_TOOLS))}")
    return name


def _zone_name(name: str) -> str:
    _zone(name)
    return name


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("is no time zone such as UTC or Europe/Berlin") from error


# The tools that do something to the world.
EFFECT_TOOLS = frozenset({"issue_refund", "send_email", "flag_for_fraud"})
EffectTool = Annotated[str, AfterValidator(_effect_tool)]
DecimalText = Annotated[str, Field(pattern=r"^[0-9]{1,12}(\.[0-9]{1,4})?$")]
Share = Annotated[str, Field(pattern=r"^[01](\.[0-9]{1,6})?$"), AfterValidator(_decimal_share)]
# What the code fills into the text of an e-mail template.
TEMPLATE_FIELDS = frozenset({"name", "order_id"})
Seconds = Annotated[int, Field(gt=0, le=30 * 24 * 3600)]
TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
ZoneName = Annotated[str, AfterValidator(_zone_name)]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
# What becomes of a request at its deadline: it expires, or the senior group has one more period.
AtDeadline = Literal["deny", "escalate"]
# So long people work at least, on a day on which they do.
_SHORTEST_DAY = timedelta(hours=1)
WEEKDAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _decides(role: Role) -> Role:
    if role is Role.SUPPORT:
        raise ValueError("answers customers and decides on nothing")
    return role


# A role that decides on requests.
DecidingRole = Annotated[Role, Field(strict=False), AfterValidator(_decides)]


class TierRule(_Strict):
    """One step of the tiers of a currency; the last has no `up_to`."""

    up_to: DecimalText | None = None
    role: DecidingRole
    approvals: Annotated[int, Field(ge=1, le=2)] = 1
    at_deadline: AtDeadline = "deny"
    # Whether the role must be read from Slack after the click.
    fresh_role: bool = False

    def tier(self) -> Tier:
        """Return who decides."""
        return Tier(self.role, self.approvals, self.fresh_role)


# Of a currency that the policy has no tiers for (design.md §7): as the topmost tier.
NO_TIERS = TierRule(role=Role.REFUND_MANAGER, approvals=2, at_deadline="escalate", fresh_role=True)


class RefundRules(_Strict):
    """What `issue_refund` may do alone, and who decides the rest."""

    auto_limit: dict[str, DecimalText]
    confidence_min: Share
    cumulative_window_s: Seconds
    customer_window_s: Seconds
    customer_max_refunds: Annotated[int, Field(ge=1, le=1000)]
    earlier_no_s: Seconds
    decide_within_s: Seconds
    use_within_s: Seconds
    tiers: dict[str, list[TierRule]]


class EmailTemplate(_Strict):
    """A text that may leave without a person; `{name}` and `{order_id}` are filled in by code."""

    subject: Annotated[str, Field(min_length=1, max_length=200)]
    body: Annotated[str, Field(min_length=1, max_length=8000)]


class EmailRules(_Strict):
    """What `send_email` may do alone, and who decides the rest."""

    templates_run: bool
    customer_window_s: Seconds
    customer_max_emails: Annotated[int, Field(ge=1, le=1000)]
    role: DecidingRole
    approvals: Annotated[int, Field(ge=1, le=2)] = 1
    at_deadline: AtDeadline = "deny"
    decide_within_s: Seconds
    use_within_s: Seconds
    templates: dict[str, EmailTemplate]


class FlagRules(_Strict):
    """What `flag_for_fraud` may do alone, and who decides the rest.

    A score up to `auto_score_max` is noted for monitoring; without it every flag waits.
    """

    auto_score_max: Share | None
    role: DecidingRole
    approvals: Annotated[int, Field(ge=1, le=2)] = 1
    at_deadline: AtDeadline = "deny"
    decide_within_s: Seconds
    use_within_s: Seconds


class Workdays(_Strict):
    """When the people who decide are at work, in the time zone of the section."""

    days: Annotated[list[Weekday], Field(min_length=1)]
    opens: TimeOfDay
    closes: TimeOfDay


class EscalationRules(_Strict):
    """How requests that wait are brought up again (design.md §10).

    `remind_at` and `oncall_at` are shares of the time to decide. While more than `digest_over`
    requests wait, one message in `digest_every_s` stands for all that would be told one by one.
    With `business_hours` only those count as time to decide.
    """

    remind_at: Share
    oncall_at: Share
    senior: DecidingRole
    digest_over: Annotated[int, Field(ge=1, le=100_000)]
    digest_every_s: Seconds
    timezone: ZoneName
    daily_digest_at: TimeOfDay | None
    business_hours: Workdays | None

    def schedule(self) -> Schedule:
        """Return when what is due."""
        return Schedule(Fraction(self.remind_at), Fraction(self.oncall_at), self._hours())

    def daily(self) -> tuple[tzinfo, time] | None:
        """Return in which zone and at what time the digest of the day is made, None if never."""
        at = self.daily_digest_at
        return None if at is None else (_zone(self.timezone), time.fromisoformat(at))

    def _hours(self) -> BusinessHours | None:
        rules = self.business_hours
        if rules is None:
            return None
        days = frozenset(WEEKDAYS.index(day) for day in rules.days)
        opens, closes = (time.fromisoformat(at) for at in (rules.opens, rules.closes))
        return BusinessHours(_zone(self.timezone), days, opens, closes)


class ReviewRules(_Strict):
    """Which automatic effects people look at afterwards (design.md §12).

    `share` is by tool; automatic refunds above `all_above` of their limit are all looked at.
    """

    share: dict[EffectTool, Share]
    all_above: Share
    flag_pauses_customer: bool


class BreakerRules(_Strict):
    """When automatic refunds pause (design.md §11)."""

    max_refunds: Annotated[int, Field(ge=1, le=100_000)]
    window_s: Seconds
    cooldown_s: Seconds
    when_open: Literal["refuse", "park"]


class RoleSource(_Strict):
    """Where holders of a role come from: a Slack user group's handle and fixed `team:user` ids."""

    slack_user_group: str | None = None
    slack_users: list[str] = []


class Topic(_Strict):
    """One passage of the shop's rules: words that point to it and what the customer is told."""

    title: str
    keywords: list[str]
    text: str


class Policy(_Strict):
    """The whole policy file; `version` is the hash of its content, overrides included."""

    refunds: RefundRules
    emails: EmailRules
    fraud_flags: FlagRules
    review: ReviewRules
    breaker: BreakerRules
    escalation: EscalationRules
    max_open_approvals: Annotated[int, Field(ge=1, le=1000)]
    max_revisions: Annotated[int, Field(ge=1, le=100)]
    roles: dict[Annotated[Role, Field(strict=False)], RoleSource]
    shop_rules: list[Topic]

    @property
    def version(self) -> str:
        """Return the first 12 hex digits of the sha256 over the content in sorted order."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def auto_limit(self, currency: str) -> Money | None:
        """Return what may be refunded without a person in this currency, None if nothing may."""
        text = self.refunds.auto_limit.get(currency)
        return None if text is None else parse_money(text, currency)

    def confidence_min(self) -> Decimal:
        """Return the confidence below which a proposal waits."""
        return Decimal(self.refunds.confidence_min)

    def tier_for(self, amount: Money) -> Tier:
        """Return who may decide a refund of this amount."""
        return self.tier_rule(amount).tier()

    def tier_rule(self, amount: Money) -> TierRule:
        """Return the line of the tiers that a refund of this amount falls under.

        A currency without tiers asks for two people, one of them a manager, as the topmost does
        (design.md §7).
        """
        for rule in self.refunds.tiers.get(amount.currency, []):
            ceiling = rule.up_to
            if ceiling is None or not amount.exceeds(parse_money(ceiling, amount.currency)):
                return rule
        return NO_TIERS

    def breaker_limits(self) -> BreakerLimits:
        """Return the breaker's numbers as durations."""
        return BreakerLimits(
            max_refunds=self.breaker.max_refunds,
            window=timedelta(seconds=self.breaker.window_s),
            cooldown=timedelta(seconds=self.breaker.cooldown_s),
        )

    def flag_score_max(self) -> Decimal | None:
        """Return the fraud score up to which a flag is only noted; None when every flag waits."""
        text = self.fraud_flags.auto_score_max
        return None if text is None else Decimal(text)


def read_policy(document: Mapping[str, object]) -> Policy:
    """Validate a parsed policy document; raises InvalidInput naming the entry that is wrong."""
    try:
        policy = Policy.model_validate(dict(document))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "policy"
        raise InvalidInput(where, first["msg"]) from error
    for currency, text in policy.refunds.auto_limit.items():
        where = f"refunds.auto_limit.{currency}"
        _check_currency(currency, where)
        parse_money(text, currency, field=where)
    for currency, rules in policy.refunds.tiers.items():
        _check_tiers(currency, rules)
    _check_escalation(policy.escalation)
    for name, template in policy.emails.templates.items():
        where = f"emails.templates.{name}"
        _check_template(template.subject, f"{where}.subject", is_mail_line)
        _check_template(template.body, f"{where}.body", is_mail_text)
    return policy


def _check_escalation(rules: EscalationRules) -> None:
    if Decimal(rules.remind_at) > Decimal(rules.oncall_at):
        raise InvalidInput("escalation.oncall_at", "comes before remind_at")
    work = rules.business_hours
    if work is not None and _minutes(work.closes) - _minutes(work.opens) < _SHORTEST_DAY:
        where = "escalation.business_hours.closes"
        raise InvalidInput(where, "lies at least an hour after opens, on the same day")


def _minutes(at: str) -> timedelta:
    hours, _, minutes = at.partition(":")
    return timedelta(hours=int(hours), minutes=int(minutes))


def _check_template(text: str, where: str, fits: Callable[[str], bool]) -> None:
    if not fits(text):
        raise InvalidInput(where, "has control characters, or a subject of two lines")
    try:
        # A field is a bare name: a format may fail, or hide another field, when it is filled in.
        fields = {
            f"{name}!{how}:{form}" if how or form else name
            for _, name, form, how in Formatter().parse(text)
            if name is not None
        }
    except ValueError as error:
        raise InvalidInput(where, str(error)) from error
    if unknown := fields - TEMPLATE_FIELDS:
        raise InvalidInput(where, f"only {sorted(TEMPLATE_FIELDS)} are filled in: {min(unknown)!r}")


def _check_currency(currency: str, where: str) -> None:
    try:
        exponent(currency)
    except InvalidInput as error:
        raise InvalidInput(where, error.problem) from error


def _check_tiers(currency: str, rules: list[TierRule]) -> None:
    where = f"refunds.tiers.{currency}"
    _check_currency(currency, where)
    if not rules or rules[-1].up_to is not None:
        raise InvalidInput(where, "the last tier has no up_to")
    ceilings = [parse_money(r.up_to, currency, field=where).minor for r in rules[:-1] if r.up_to]
    if len(ceilings) != len(rules) - 1 or ceilings != sorted(set(ceilings)):
        raise InvalidInput(where, "each up_to is larger than the one before")
