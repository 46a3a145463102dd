"""The buttons about one request: some act at once, the others open a form that does."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from slack_bolt import Ack

from agent.domain.approvals import Approval, Status, Verdict
from agent.domain.decision import Decision, RefusalCode, Refused
from agent.domain.judgement import Entitled
from agent.domain.reviews import Review
from agent.domain.roles import Channel, Role
from agent.ports import DeliveryKind
from agent.steps.kept import AskingAgain
from agent.steps.permission import Order, Where, permit, refuse
from agent.steps.reveal import reveal
from agent.steps.review import answer_review
from bot.slack import details, edits, forms, modals, questions
from bot.slack.blocks import Block
from bot.slack.dossier import leaf_of
from bot.slack.edge import Edge
from bot.slack.intake import Shown, barred, look, note_click, read_click
from bot.slack.payloads import Body, Click
from bot.slack.states import can_edit, ended_words
from bot.slack.targets import PageTarget, Target, read_page_target, read_target

_ENDED = {
    Status.PENDING: (RefusalCode.EXPIRED, "Too late"),
    Status.EXPIRED: (RefusalCode.EXPIRED, "Too late"),
    Status.SUPERSEDED: (RefusalCode.SUPERSEDED, "Replaced by an edit"),
}


@dataclass(frozen=True, slots=True)
class Clicks:
    """The listeners of the buttons of cards and reviews; each acknowledges with an empty body."""

    edge: Edge

    def approve(self, body: Body, ack: Ack) -> None:
        """Decide in the own database, then acknowledge; the card tells the outcome."""
        if found := read_click(self.edge, body, read_target):
            click, target = found
            self.edge.decide(
                Decision(
                    approval_id=target.approval_id,
                    identity=click.identity,
                    verdict=Verdict.APPROVE,
                    shown_hash=target.h,
                    channel=Channel.SLACK,
                    reply_to=click.reply_to,
                    act={"action_ts": click.actions[0].action_ts, "rev": target.rev},
                ),
                click.reply_to,
            )
        ack()

    def edit(self, body: Body, ack: Ack) -> None:
        """Open the form that changes the request."""
        self._open(body, lambda shown, _: edits.edit_modal(shown.view, shown.channel), _is_editable)
        ack()

    def reject(self, body: Body, ack: Ack) -> None:
        """Open the form that asks why."""
        self._open(body, lambda shown, _: modals.reject_modal(shown.view, shown.channel))
        ack()

    def review(self, body: Body, ack: Ack) -> None:
        """Open everything about a request, whether it still waits or not."""
        self._open(body, self._everything, lambda _: True)
        ack()

    def page(self, body: Body, ack: Ack) -> None:
        """Turn a page of the details; what has ended meanwhile is drawn as it stands now."""
        if found := read_click(self.edge, body, read_page_target):
            click, page = found
            kept_out = barred(self.edge, click, page)
            shown = look(self.edge, click, page) if kept_out is None else kept_out
            if isinstance(shown, str):
                self.edge.replace_view(click.place, modals.notice_modal("Not possible", shown))
            else:
                self.edge.replace_view(click.place, self._leaf(shown, click, page))
        ack()

    def reveal(self, body: Body, ack: Ack) -> None:
        """Show what is masked to somebody who may decide; others read in private why not."""
        if found := read_click(self.edge, body, read_page_target):
            click, page = found
            shown = look(self.edge, click, page)
            if isinstance(shown, str):
                self.edge.tell(click.channel_id, click.user.id, shown)
            else:
                self._reveal(click, shown, page)
        ack()

    def _reveal(self, click: Click, shown: Shown, page: PageTarget) -> None:
        desk, order = self.edge.desk, Order(click.identity, Channel.SLACK, "")
        what = page.section if page.section == "request" else f"{page.section} {page.entry}"
        step = partial(reveal, desk, shown.view.approval.id, order, what)
        refused = self.edge.order(click.identity, step)
        if refused is not None:
            self.edge.tell(click.channel_id, click.user.id, refused.message)
            return
        leaf = leaf_of(desk.store, shown, page, desk.clock.now(), revealed=True)
        self.edge.open_view(click, details.revealed_view(leaf))

    def break_glass(self, body: Body, ack: Ack) -> None:
        """Open the form of somebody on call who approves alone."""
        self._open(body, lambda shown, _: forms.break_glass_modal(shown.view, shown.channel))
        ack()

    def ask(self, body: Body, ack: Ack) -> None:
        """Open the form for a question, to the customer or to the agent."""
        self._open(body, lambda shown, _: questions.ask_modal(shown.view, shown.channel))
        ack()

    def revoke(self, body: Body, ack: Ack) -> None:
        """Open the form that takes an approval back."""
        self._open(
            body,
            lambda shown, _: forms.revoke_modal(shown.view, shown.channel),
            lambda shown: shown.status is Status.APPROVED,
        )
        ack()

    def settle(self, body: Body, ack: Ack) -> None:
        """Open the form for what a manager has seen of an unknown outcome."""
        self._open(
            body,
            lambda shown, _: forms.settle_modal(shown.view, shown.channel),
            lambda shown: shown.status is Status.UNKNOWN,
            takes=Role.REFUND_MANAGER,
        )
        ack()

    def flag(self, body: Body, ack: Ack) -> None:
        """Open the form that asks what was wrong about an automatic effect."""
        self._open(
            body,
            lambda shown, _: forms.flag_modal(shown.view, shown.channel),
            lambda shown: shown.view.approval.automatic,
        )
        ack()

    def ask_again(self, body: Body, ack: Ack) -> None:
        """Put what lapsed before people once more; the new card tells it, or a whisper why not."""
        if found := self._named(body):
            click, approval = found
            order = Order(click.identity, Channel.SLACK, "")
            answer = self.edge.in_time(AskingAgain(approval.id, order), click.reply_to)
            if isinstance(answer, Refused):
                self._answer(click, approval, answer, DeliveryKind.CARD_UPDATE)
        ack()

    def right(self, body: Body, ack: Ack) -> None:
        """Note that an automatic effect was right; the message says who, or a whisper why not."""
        if found := self._named(body):
            click, approval = found
            order = Order(click.identity, Channel.SLACK, "")
            step = partial(answer_review, self.edge.desk, approval.id, order, right=True)
            answer = self.edge.order(click.identity, step)
            self._answer(click, approval, answer, DeliveryKind.REVIEW_UPDATE)
        ack()

    def _named(self, body: Body) -> tuple[Click, Approval] | None:
        """Read a click that acts at once, on a request as it was shown."""
        found = read_click(self.edge, body, read_target)
        if found is None:
            return None
        click, target = found
        shown = look(self.edge, click, target)
        if isinstance(shown, str):
            self.edge.tell(click.channel_id, click.user.id, shown)
            return None
        return click, shown.view.approval

    def _answer(
        self,
        click: Click,
        approval: Approval,
        answer: Approval | Review | Refused,
        redraw: DeliveryKind,
    ) -> None:
        if isinstance(answer, Refused):
            self.edge.answer(click, answer.message, redraw, approval)

    def _open(
        self,
        body: Body,
        draw: Callable[[Shown, Click], Block],
        is_offered: Callable[[Shown], bool] | None = None,
        *,
        takes: Role | None = None,
    ) -> None:
        """Open a form over what was clicked, or say how it stands; by default it must wait.

        With `takes` it opens for people who hold the role; others read in private why it does not.
        """
        found = read_click(self.edge, body, read_target)
        if found is None:
            return
        click, target = found
        kept_out = barred(self.edge, click, target)
        shown = look(self.edge, click, target) if kept_out is None else kept_out
        if isinstance(shown, str):
            view = modals.notice_modal("Not possible", shown)
        elif shown.waiting if is_offered is None else is_offered(shown):
            refused = None if takes is None else self._without(click, shown, takes)
            if refused is not None:
                self.edge.tell(click.channel_id, click.user.id, refused.message)
                return
            view = draw(shown, click)
        else:
            view = self._not_now(click, target, shown)
        self.edge.open_view(click, view)

    def _without(self, click: Click, shown: Shown, role: Role) -> Refused | None:
        """Return the refusal of somebody who cannot prove the role, written down; None if they can.

        The form's own step asks once more.
        """
        desk, approval = self.edge.desk, shown.view.approval
        order = Order(click.identity, Channel.SLACK, "")
        with desk.store.transaction() as tx:
            now = desk.clock.now()
            permitted = permit(tx, order, (role,), now, reason=False)
            if isinstance(permitted, Entitled):
                return None
            verdict = click.actions[0].action_id
            return refuse(tx, order, verdict, permitted, now, Where(approval.id, approval.run_id))

    def _not_now(self, click: Click, target: Target, shown: Shown) -> Block:
        if shown.waiting:
            note_click(self.edge, click, target, RefusalCode.INVALID)
            return modals.notice_modal(
                "Not possible", "It waits for a decision: approve or reject it."
            )
        code, heading = _ENDED.get(shown.status, (RefusalCode.ALREADY_DECIDED, "Already decided"))
        note_click(self.edge, click, target, code)
        self.edge.redraw_alert(click)
        return modals.notice_modal(heading, ended_words(shown.view))

    def _everything(self, shown: Shown, click: Click) -> Block:
        return self._leaf(shown, click, PageTarget.at(shown.view.approval))

    def _leaf(self, shown: Shown, click: Click, page: PageTarget) -> Block:
        desk = self.edge.desk
        leaf = leaf_of(desk.store, shown, page, desk.clock.now())
        actor = self.edge.staff(click.identity) if shown.waiting else None
        may = actor is not None and Role.ONCALL in actor.roles()
        return details.details_view(leaf, shown.channel, may_break_glass=may)


def _is_editable(shown: Shown) -> bool:
    return shown.waiting and can_edit(shown.view.approval)
