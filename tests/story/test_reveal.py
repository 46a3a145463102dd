"""Who may see what a card masks of a customer, and what the trail keeps of it."""

import json

from agent.domain.approvals import Status
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.roles import Channel, Identity, Role
from agent.steps.permission import Order
from agent.steps.reveal import reveal
from storage import audit
from tests.support.desk import Story


def ask(story: Story, who: Identity, approval_id: ApprovalId) -> RefusalCode | None:
    answer = reveal(story.desk, approval_id, Order(who, Channel.SLACK, ""), "request")
    return answer.code if isinstance(answer, Refused) else None


def test_those_who_may_decide_see_it_others_and_the_customer_do_not(story: Story) -> None:
    ann = story.hire("ann", Role.REFUND_APPROVER)
    olu = story.hire("olu", Role.ONCALL)
    zoe = story.hire("zoe")
    ben = story.hire("ben", Role.REFUND_APPROVER, identities=[Identity("customer", "cus_clara")])
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "160.00")
    waiting = story.only(Status.PENDING)
    answers = [ask(story, who, waiting.id) for who in (ann, olu, zoe, ben)]
    assert answers == [None, None, RefusalCode.NOT_ALLOWED, RefusalCode.SELF_APPROVAL]
    missing = ApprovalId("apr_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert ask(story, ann, missing) is RefusalCode.NOT_FOUND
    with story.desk.store.transaction(write=False) as tx:
        bodies = [json.loads(body) for body in audit.bodies_of(tx, waiting.id)]
    seen = [body["data"] for body in bodies if body["type"] == "card.revealed"]
    assert [(one["name"], one["what"]) for one in seen] == [("Ann", "request"), ("Olu", "request")]
