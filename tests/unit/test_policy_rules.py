"""What the policy says of e-mails, fraud flags and the look afterwards; templates are filled in."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.domain.errors import InvalidInput
from agent.domain.policy import TEMPLATE_FIELDS, Policy, read_policy
from agent.domain.roles import Role
from tests.support.builders import policy, policy_document

Change = Callable[[dict[str, Any]], object]
SHIPPED = policy()


def within(section: str, **changes: object) -> Change:
    return lambda document: document[section].update(changes)


def template(subject: str = "Hello", body: str = "Dear {name}") -> Change:
    return within("emails", templates={"greeting": {"subject": subject, "body": body}})


def changed(change: Change) -> Policy:
    document = policy_document()
    change(document)
    return read_policy(document)


def test_the_shipped_rules_are_those_of_the_design() -> None:
    emails, flags, review = SHIPPED.emails, SHIPPED.fraud_flags, SHIPPED.review
    assert emails.templates_run
    assert emails.decide_within_s == 4 * 3600
    assert flags.decide_within_s == 24 * 3600
    assert emails.use_within_s == flags.use_within_s == 15 * 60
    assert (emails.role, flags.role) == (Role.REFUND_APPROVER, Role.REFUND_MANAGER)
    assert SHIPPED.flag_score_max() == Decimal("0.80")
    assert review.all_above == "0.50"
    assert review.flag_pauses_customer
    assert set(review.share) == {"issue_refund", "send_email", "flag_for_fraud"}
    assert SHIPPED.refunds.customer_window_s == 30 * 24 * 3600
    assert SHIPPED.refunds.customer_max_refunds == 5


def test_without_a_line_every_flag_waits() -> None:
    assert changed(within("fraud_flags", auto_score_max=None)).flag_score_max() is None
    assert changed(within("fraud_flags", auto_score_max="0")).flag_score_max() == 0
    assert changed(within("fraud_flags", auto_score_max="1.000000")).flag_score_max() == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(within("refunds", customer_max_refunds=6), id="how many in a month"),
        pytest.param(within("refunds", customer_window_s=86400), id="how long a month is"),
        pytest.param(within("emails", templates_run=False), id="templates wait"),
        pytest.param(within("emails", approvals=2), id="two for an e-mail"),
        pytest.param(template(), id="the templates"),
        pytest.param(within("fraud_flags", auto_score_max="0.79"), id="the line of a flag"),
        pytest.param(within("fraud_flags", auto_score_max=None), id="no line"),
        pytest.param(within("fraud_flags", role="refund_approver"), id="who decides a flag"),
        pytest.param(within("review", all_above="0.51"), id="what is all looked at"),
        pytest.param(within("review", share={}), id="what is sampled"),
        pytest.param(within("review", flag_pauses_customer=False), id="what a flag does"),
    ],
)
def test_every_change_makes_another_version(change: Change) -> None:
    assert changed(change).version != SHIPPED.version


@pytest.mark.parametrize(
    ("change", "where"),
    [
        pytest.param(lambda d: d.pop("emails"), "emails", id="no e-mails"),
        pytest.param(lambda d: d.pop("fraud_flags"), "fraud_flags", id="no flags"),
        pytest.param(lambda d: d.pop("review"), "review", id="no review"),
        pytest.param(within("refunds", customer_max_refunds=0), "refunds.customer_max", id="none"),
        pytest.param(within("refunds", customer_window_s=0), "refunds.customer_window", id="never"),
        pytest.param(within("emails", templates_run="yes"), "emails.templates_run", id="a text"),
        pytest.param(within("emails", templates_run=1), "emails.templates_run", id="a number"),
        pytest.param(within("emails", role="boss"), "emails.role", id="an unknown role"),
        pytest.param(within("emails", approvals=3), "emails.approvals", id="three people"),
        pytest.param(within("emails", decide_within_s=0), "emails.decide_within_s", id="no time"),
        pytest.param(within("emails", template={}), "emails.template", id="an unknown entry"),
        pytest.param(
            within("emails", templates={"x": {"subject": "Hello"}}),
            "emails.templates.x.body",
            id="no text",
        ),
        pytest.param(template(subject=""), "emails.templates.greeting.subject", id="no subject"),
        pytest.param(template(body=""), "emails.templates.greeting.body", id="an empty text"),
        pytest.param(
            template(subject="x" * 201), "emails.templates.greeting.subject", id="a long subject"
        ),
        pytest.param(template(body="x" * 8001), "emails.templates.greeting.body", id="a long text"),
        pytest.param(
            within("fraud_flags", auto_score_max="1.01"), "fraud_flags.auto_score", id="over one"
        ),
        pytest.param(
            within("fraud_flags", auto_score_max=0.8), "fraud_flags.auto_score", id="a float"
        ),
        pytest.param(
            lambda d: d["fraud_flags"].pop("auto_score_max"),
            "fraud_flags.auto_score_max",
            id="a line is said or said not to be",
        ),
        pytest.param(within("fraud_flags", approvals=0), "fraud_flags.approvals", id="nobody"),
        pytest.param(
            within("review", share={"issue_refund": "1.1"}), "review.share.issue_refund", id="110 %"
        ),
        pytest.param(
            within("review", share={"pay_rent": "0.1"}),
            "review.share.pay_rent",
            id="no such tool",
        ),
        pytest.param(
            within("review", share={"issue_refund": 1}), "review.share.issue_refund", id="number"
        ),
        pytest.param(within("review", all_above="half"), "review.all_above", id="a word"),
        pytest.param(
            within("review", flag_pauses_customer="no"), "review.flag_pauses", id="no as a text"
        ),
    ],
)
def test_a_wrong_entry_is_named(change: Change, where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        changed(change)
    assert refused.value.field.startswith(where)
    assert refused.value.problem


@pytest.mark.parametrize("part", ["subject", "body"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("Dear {customer}", "'customer'", id="an unknown field"),
        pytest.param("Dear {}", "''", id="a field without a name"),
        pytest.param("Dear {0}", "'0'", id="a number"),
        pytest.param("Dear {name.__class__}", "'name.__class__'", id="an attribute"),
        pytest.param("Dear {name[0]}", "'name[0]'", id="an index"),
        pytest.param("Dear {order_id.x}", "'order_id.x'", id="an attribute of the order"),
        pytest.param("Dear {Name}", "'Name'", id="another spelling"),
        pytest.param("Dear { name }", "' name '", id="spaces"),
        pytest.param("Dear {name!r}", "'name!r:'", id="a conversion"),
        pytest.param("Dear {name!z}", "'name!z:'", id="no conversion there is"),
        pytest.param("Dear {name:>9}", "'name!None:>9'", id="a format"),
        pytest.param("Dear {name:d}", "'name!None:d'", id="a format that fails"),
        pytest.param("Dear {name:>999999999}", "'name!None:>999999999'", id="a huge format"),
        pytest.param("Dear {name:{secret}}", "'name!None:{secret}'", id="a field in a format"),
        pytest.param("Dear {name", "expected '}'", id="a brace that does not close"),
        pytest.param("Dear name}", "Single '}'", id="a brace that does not open"),
        pytest.param("Dear {{name}", "Single '}'", id="half of a pair"),
        pytest.param("Dear {na{me}", "unexpected '{'", id="a brace in a field"),
        pytest.param("Dear\x1b[2J", "control characters", id="an escape"),
        pytest.param("Dear\0", "control characters", id="a NUL"),
    ],
)
def test_a_template_that_cannot_be_filled_in_is_refused_at_the_start(
    part: str, text: str, problem: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        changed(template(**{part: text}))
    assert refused.value.field == f"emails.templates.greeting.{part}"
    assert problem in refused.value.problem


@pytest.mark.parametrize("text", ["two\nlines", "two\r\nlines", "a\ttab", "a\u2028line"])
def test_a_subject_is_one_line_and_a_text_may_be_more(text: str) -> None:
    assert changed(template(body=text)).emails.templates["greeting"].body == text
    with pytest.raises(InvalidInput) as refused:
        changed(template(subject=text))
    assert refused.value.field == "emails.templates.greeting.subject"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        pytest.param("Hello", "Hello", id="no field"),
        pytest.param("{name}, {order_id}", "Ana {x}, ORD-1001", id="both"),
        pytest.param("{name}{name}", "Ana {x}Ana {x}", id="one twice"),
        pytest.param("{{name}}", "{name}", id="braces that are meant"),
        pytest.param("{name:}", "Ana {x}", id="an empty format"),
    ],
)
def test_a_template_is_filled_in(text: str, filled: str) -> None:
    found = changed(template(body=text)).emails.templates["greeting"].body
    # A name with braces in it is a name.
    assert found.format(name="Ana {x}", order_id="ORD-1001") == filled


PIECES = st.sampled_from(["{", "}", "{{", "}}", "{name}", "{order_id}", "!r", ":9", ".x", "a", " "])


def taken(text: str) -> str | None:
    """Return the text as the policy holds it, None if it is refused."""
    try:
        return changed(template(body=text)).emails.templates["greeting"].body
    except InvalidInput:
        return None


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join))
def test_whatever_is_taken_can_be_filled_in(text: str) -> None:
    """Nothing of it fails later, and each of its fields is there in full as often as it stands."""
    held = taken(text)
    assume(held is not None)
    assert held is not None
    bare = held.format(**dict.fromkeys(TEMPLATE_FIELDS, ""))
    filled = held.format(**dict.fromkeys(TEMPLATE_FIELDS, "#"))
    assert filled.replace("#", "") == bare
    # Two braces in a row stand for one that is meant.
    fields = re.sub(r"\{\{|\}\}", "", text)
    assert filled.count("#") == fields.count("{")


def test_every_shipped_template_speaks_of_its_order() -> None:
    for kept in SHIPPED.emails.templates.values():
        filled = (kept.subject + kept.body).format(name="Ana", order_id="ORD-1001")
        assert "ORD-1001" in kept.subject.format(name="Ana", order_id="ORD-1001")
        assert "Ana" in filled
        assert "{" not in filled
