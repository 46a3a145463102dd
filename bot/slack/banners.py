"""The banner over whatever waits while everything is stopped."""

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.tools.registry import EFFECTS
from bot.slack.blocks import Block, emoji, line, moment, rich, word

STOPPED = "Everything is stopped: nothing runs until it is lifted."
_HELD_UP = frozenset({Status.PENDING, Status.APPROVED, Status.UNKNOWN})


def stopped_banner(view: ApprovalView) -> list[Block]:
    """Return the banner of a request that is held up by the stop; nothing for any other."""
    approval = view.approval
    if not view.stopped or approval.status not in _HELD_UP:
        return []
    told = [emoji("octagonal_sign"), word(f" {STOPPED}", "bold")]
    if approval.status is Status.PENDING:
        told.append(word(" It can be decided all the same."))
    elif approval.status is Status.UNKNOWN:
        told.append(word(f" {_re_sends(approval)}"))
    elif approval.use_by is not None:
        # The stop does not hold up the clock.
        told += [word(" The approval is good until "), moment(approval.use_by), word(".")]
    return [rich(line(*told))]


def _re_sends(approval: Approval) -> str:
    effect = EFFECTS.get(approval.tool)
    if effect is None or not effect.can_look:
        return "What has left already cannot be called back."
    return "What became of this one is still looked up, but it is not sent again."
