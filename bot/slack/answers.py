"""What a form shows after its submission: it closes, marks an input, or says what was refused."""

from slack_bolt import Ack

from agent.domain.decision import RefusalCode, Refused
from bot.slack.modals import notice_modal
from bot.slack.names import Field

_HEADINGS: dict[RefusalCode, str] = {
    RefusalCode.ALREADY_DECIDED: "Already decided",
    RefusalCode.ALREADY_VOTED: "Already voted",
    RefusalCode.EXPIRED: "Too late",
    RefusalCode.NOT_ALLOWED: "Not allowed",
    RefusalCode.SELF_APPROVAL: "Not allowed",
    RefusalCode.ROLE_UNVERIFIED: "Could not verify",
    RefusalCode.PAYLOAD_CHANGED: "It has changed",
    RefusalCode.SUPERSEDED: "Replaced by an edit",
    RefusalCode.TOO_EARLY: "Too early",
}
_ERROR_MAX = 1_900
_BEING_CHECKED = (
    "This takes longer than Slack waits. It goes on, and a message will tell you how it ended; "
    "nothing has been lost."
)


def close(ack: Ack) -> None:
    """Close the form, and whatever it lies upon."""
    ack(response_action="clear")


def refuse(ack: Ack, refused: Refused, invalid: Field | None = None) -> None:
    """Mark the input that must change, or say why the word did not count.

    `invalid` is the input in which an entry at fault stands, other than the reason.
    """
    match refused.code:
        case RefusalCode.REASON_REQUIRED:
            mark(ack, Field.REASON, refused.message)
        case RefusalCode.INVALID if invalid is not None:
            mark(ack, invalid, refused.message.removeprefix(f"{invalid}: "))
        case code:
            notice(ack, _HEADINGS.get(code, "Not possible"), refused.message)


def checking(ack: Ack) -> None:
    """Say that the answer comes in a message of its own."""
    notice(ack, "Being checked", _BEING_CHECKED)


def mark(ack: Ack, where: Field, text: str) -> None:
    """Keep the form open, with a sentence below the input that must change."""
    ack(response_action="errors", errors={where.value: text[:_ERROR_MAX]})


def notice(ack: Ack, heading: str, text: str) -> None:
    """Let the form say something instead; what it lies upon closes with it, for that is past."""
    view = {**notice_modal(heading, text), "clear_on_close": True}
    ack(response_action="update", view=view)
