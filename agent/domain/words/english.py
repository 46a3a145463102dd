"""English."""

from agent.domain.words.shape import Chips, Mails, Offers, Outcomes, Thing, Words

ENGLISH = Words(
    refund=Thing(
        name="Refund",
        title="Refund of {amount}",
        title_on="Refund of {amount} on order {order}",
        way="the payment is on its way",
        done="has been paid",
        undone="nothing was paid",
    ),
    email=Thing(
        name="E-mail",
        title="E-mail",
        title_on="E-mail about order {order}",
        way="it is on its way",
        done="has been sent",
        undone="nothing was sent",
    ),
    other=Thing(
        name="Request",
        title="Request",
        title_on="Request about order {order}",
        way="it is being carried out",
        done="has been carried out",
        undone="nothing was done",
    ),
    chips=Chips(
        waiting="{what}: needs a quick review by our team",
        paused="{what}: approved, but everything is paused at the moment",
        approved="{what}: approved, {way}",
        done="{what}: done",
        accepted="{what}: accepted, {way}",
        unknown="{what}: approved, we are checking whether it went through",
        failed="{what}: could not be completed",
        declined="{what}: declined.",
        expired="{what}: nobody decided in time",
        replaced="{what}: replaced by a changed request",
        withdrawn="{what}: withdrawn",
        called_off="{what}: called off by our team",
        with_reason="{said}. {reason}",
    ),
    outcomes=Outcomes(
        waiting="The {what} needs a quick review by our team.",
        executed="Good news: the {what} {done}.",
        accepted="Good news: the {what} was accepted; {way}.",
        edited="Our team changed the amount from {original} to {amount}.",
        declined="Our team has declined the {what}.",
        expired="No one decided on the {what} in time, so {undone}.",
        failed="The {what} could not be completed and {undone}.",
        came_back=(
            "The {what} did not arrive: your bank did not take it, so the money has not "
            "reached you."
        ),
        stale=(
            "The {what} was not carried out because something changed in the meantime; {undone}."
        ),
        unknown="The {what} is approved; we are still checking whether it went through.",
        withdrawn="The {what} was withdrawn; {undone}.",
        called_off="The {what} was called off by our team; {undone}.",
        replaced="The {what} was replaced by a changed request.",
    ),
    offers=Offers(
        person="I can pass you to a person.",
        person_if_liked="If you like, I can pass you to a person.",
        person_looks="I can pass you to a person who looks into it.",
        again_or_person="You can ask again, or I can pass you to a person.",
    ),
    mails=Mails(
        subject="{name}: {status}",
        subject_on="{name} for order {order}: {status}",
        greeting="Hello {name},",
        hello="Hello,",
        amount="Amount",
        order="Order",
        status="Status",
        reason="What our team says",
        invitation="Have a question about it? Write to us in the chat, a person can help you too:",
        link="Open the chat",
        why=(
            "This message was sent automatically, because something new about your request had "
            "not been read in our chat yet."
        ),
        done="done",
        accepted="accepted, on its way",
        declined="declined",
        expired="nobody decided in time",
        failed="could not be completed",
        came_back="did not arrive",
        stale="not carried out",
        withdrawn="withdrawn",
        called_off="called off by our team",
    ),
    question=(
        "Please answer here by {until} UTC: until then our team can decide about the {what}."
    ),
    time="{at:%d %b %Y, %H:%M}",
    model_down=(
        "Sorry, I can't answer right now. Nothing is lost: please write again in a moment, "
        "or ask for a person."
    ),
    too_many_steps="Sorry, I could not finish this. I have asked a colleague to take over.",
    handed_off="A person from our team will take over here.",
    joined="{name} from our team is here now.",
    ended="{name} has left. The assistant answers again.",
)
