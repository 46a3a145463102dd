"""What an edit would change, shown while it is typed; Save checks all of it again."""

import logging
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TypeAlias

from slack_bolt import Ack

from agent.domain.approvals import Approval, Verdict
from agent.domain.decision import Decision
from agent.domain.errors import InvalidInput
from agent.domain.judgement import Denial
from agent.domain.roles import Channel
from agent.steps.preview import Preview, preview
from bot.slack.edge import Edge
from bot.slack.edits import Draft, Problem, edit_modal, is_untouched, problem_of, read_edits
from bot.slack.intake import Missing, load, read_typing
from bot.slack.modals import notice_modal
from bot.slack.payloads import Body, InView, Typing
from bot.slack.states import ended_words
from bot.slack.targets import ModalTarget

_LOG = logging.getLogger(__name__)

_HASHES = 2_000

_Found: TypeAlias = tuple[Typing, ModalTarget]


class _Forms:
    """What was typed last into each form, and how its view went on; safe to share.

    One worker at a time draws a form: whatever is typed meanwhile waits for it, the newest alone.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._drawn: set[str] = set()
        self._waiting: dict[str, _Found] = {}
        # By a view's hash: the hash that our own drawing gave it. What was typed before the person
        # saw that carries the old one.
        self._next: OrderedDict[str, str] = OrderedDict()

    def put(self, found: _Found) -> bool:
        """Keep what was typed last, as requests overtake each other; tell if a worker is needed."""
        typing, _ = found
        with self._lock:
            before = self._waiting.get(typing.view.id)
            if before is None or before[0].at <= typing.at:
                self._waiting[typing.view.id] = found
            needed = typing.view.id not in self._drawn
            self._drawn.add(typing.view.id)
            return needed

    def take(self, view_id: str) -> _Found | None:
        """Return what was typed last and not drawn yet; without it the worker's time is over."""
        with self._lock:
            found = self._waiting.pop(view_id, None)
            if found is None:
                self._drawn.discard(view_id)
            return found

    def place_of(self, typing: Typing) -> InView:
        """Return the form as we left it, which may be newer than the person saw it."""
        place = typing.place
        with self._lock:
            while place.hash in self._next:
                place = replace(place, hash=self._next[place.hash])
            return place

    def went_on(self, old: str, new: str) -> None:
        """Note that we have drawn a view anew."""
        with self._lock:
            self._next[old] = new
            while len(self._next) > _HASHES:
                self._next.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Previews:
    """The listener of the Edit form's inputs; it acknowledges at once and draws beside that."""

    edge: Edge
    forms: _Forms = field(default_factory=_Forms)

    def typed(self, body: Body, ack: Ack) -> None:
        """Draw the form with what saving would do, or with what is wrong below the input."""
        found = read_typing(self.edge, body)
        if found is not None and self.forms.put(found):
            self.edge.prompt.start(partial(self._draw_newest, found[0].view.id))
        ack()

    def _draw_newest(self, view_id: str) -> None:
        while (found := self.forms.take(view_id)) is not None:
            try:
                self._draw(*found)
            except Exception:  # noqa: BLE001 - whatever it was, the next letter is drawn
                _LOG.exception("an edit could not be previewed")

    def _draw(self, typing: Typing, target: ModalTarget) -> None:
        shown = load(self.edge, target, target.channel)
        if isinstance(shown, Missing):
            view, missed = notice_modal("Not possible", shown.words), shown.words
        elif shown.waiting:
            draft = Draft(typing, self._found(shown.view.approval, typing, target))
            view, missed = edit_modal(shown.view, target.channel, draft), ""
        else:
            missed = ended_words(shown.view)
            view = notice_modal("Too late", missed)
        place = self.forms.place_of(typing)
        if new := self.edge.replace_view_now(place, view, missed):
            self.forms.went_on(place.hash, new)

    def _found(
        self, approval: Approval, typing: Typing, target: ModalTarget
    ) -> Preview | Problem | None:
        if is_untouched(approval, typing):
            return None
        try:
            wanted = read_edits(approval, typing)
        except InvalidInput as invalid:
            return problem_of(approval, str(invalid))
        decision = Decision(
            approval_id=approval.id,
            identity=typing.identity,
            verdict=Verdict.EDIT,
            shown_hash=target.h,
            channel=Channel.SLACK,
            edits=wanted,
        )
        found = preview(self.edge.desk, decision)
        return problem_of(approval, found.message) if isinstance(found, Denial) else found
