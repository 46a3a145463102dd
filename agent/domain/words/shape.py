"""What there is to say to customers, whatever the language: a missing sentence is a type error.

In braces stands what is put in: `what` is a thing within a sentence, `way`, `done` and `undone` are
what is said of that thing, the others are what they are called.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something that a customer asks for.

    `name` is the bare word; `title` and `title_on` are the thing as a heading, without an order and
    with {order} (a refund's with {amount}). `way`: it is on its way; `done`: it came about;
    `undone`: it did not.
    """

    name: str
    title: str
    title_on: str
    way: str
    done: str
    undone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chips:
    """How a request stands, after `{what}: `; a declined one's ends its sentence."""

    waiting: str
    paused: str
    approved: str
    done: str
    accepted: str
    unknown: str
    failed: str
    declined: str
    expired: str
    replaced: str
    withdrawn: str
    called_off: str
    with_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Whole sentences about a request; `edited` follows the sentence of what was paid."""

    waiting: str
    executed: str
    accepted: str
    edited: str
    declined: str
    expired: str
    failed: str
    came_back: str
    stale: str
    unknown: str
    withdrawn: str
    called_off: str
    replaced: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What the agent can do next for the customer."""

    person: str
    person_if_liked: str
    person_looks: str
    again_or_person: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mails:
    """A mail about an outcome, with the short names of outcomes that are a word of its subject."""

    subject: str
    subject_on: str
    greeting: str
    hello: str
    amount: str
    order: str
    status: str
    reason: str
    invitation: str
    link: str
    why: str
    done: str
    accepted: str
    declined: str
    expired: str
    failed: str
    came_back: str
    stale: str
    withdrawn: str
    called_off: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Everything the desk says by itself in one language.

    `capitals`: a thing keeps its capital within a sentence. `isolates`: what is put in is fenced
    off, for it may be written in the other direction. `time` is how a moment is written.
    """

    refund: Thing
    email: Thing
    other: Thing
    chips: Chips
    outcomes: Outcomes
    offers: Offers
    mails: Mails
    question: str
    time: str
    model_down: str
    too_many_steps: str
    handed_off: str
    joined: str
    ended: str
    capitals: bool = False
    isolates: bool = False
