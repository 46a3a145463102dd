"""The pieces of a form: inputs, choices, and the modal around them; pure."""

from collections.abc import Mapping

from agent.domain.approvals import Approval
from agent.domain.judgement import MIN_REASON
from bot.slack.blocks import Block, plain
from bot.slack.names import INPUT, Field, View
from bot.slack.targets import ModalTarget, Target

# Slack's limits (facts: Block Kit limits).
TEXT_MAX = 3_000
REASON_MAX, NOTE_MAX = 1_000, 2_000
_TITLE, _BUTTON = 24, 24


def modal(
    callback_id: View, heading: str, blocks: list[Block], *, submit: str = "", metadata: str = ""
) -> Block:
    """Return a modal; without `submit` there is nothing to send in it."""
    view: Block = {
        "type": "modal",
        "callback_id": callback_id.value,
        "title": plain(heading[:_TITLE]),
        "close": plain("Cancel" if submit else "Close"),
        "blocks": blocks,
        "private_metadata": metadata,
    }
    return view | {"submit": plain(submit[:_BUTTON])} if submit else view


def field(
    block_id: Field, label: str, element: Block, hint: str = "", *, optional: bool = False
) -> Block:
    """Return one input with its label, and a hint below it."""
    found: Block = {
        "type": "input",
        "block_id": block_id.value,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }
    return found | {"hint": plain(hint)} if hint else found


def live(found: Block) -> Block:
    """Let an input report what is typed into it while it is typed."""
    when = {"trigger_actions_on": ["on_character_entered"]}
    element = found["element"] | {"dispatch_action_config": when}
    return found | {"element": element, "dispatch_action": True}


def typed(
    most: int,
    *,
    at_least: int = 0,
    lines: bool = True,
    initial: str = "",
    focus: bool = False,
) -> Block:
    """Return an input for text; spaces count here, so the step counts again."""
    found: Block = {
        "type": "plain_text_input",
        "action_id": INPUT,
        "multiline": lines,
        # What is stored already is never too long for its own form.
        "max_length": max(most, counted(initial)),
    }
    if at_least:
        found["min_length"] = at_least
    if initial:
        found["initial_value"] = initial
    if focus:
        found["focus_on_load"] = True
    return found


def counted(text: str) -> int:
    """Return how long a text is as Slack's client counts it, in UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def reason(label: str, hint: str, *, focus: bool = False) -> Block:
    """Return the input for a reason that must be given."""
    element = typed(REASON_MAX, at_least=MIN_REASON, focus=focus)
    return field(Field.REASON, label, element, hint)


def menu(options: Mapping[str, str]) -> Block:
    """Return a menu of one choice; `options` are the words by value."""
    return {
        "type": "static_select",
        "action_id": INPUT,
        "placeholder": plain("Pick one"),
        "options": _options(options),
    }


def radio(options: Mapping[str, str]) -> Block:
    """Return a few choices side by side, of which one is taken; the words by value."""
    return {"type": "radio_buttons", "action_id": INPUT, "options": _options(options)}


def about(approval: Approval, channel: str) -> str:
    """Return the private metadata of a form about an approval that was opened in a channel."""
    target = Target.of(approval)
    return ModalTarget(id=target.id, rev=target.rev, h=target.h, channel=channel[:64]).text()


def _options(options: Mapping[str, str]) -> list[Block]:
    return [{"text": plain(words), "value": value} for value, words in options.items()]
