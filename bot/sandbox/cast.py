"""The people, channels and user groups of the demo workspace."""

from bot.sandbox.slack_config import Channel, Person, UserGroup

ANA = Person(
    id="ana",
    name="Ana Ribeiro",
    slack_user_id="U07ANARIBEI",
    email="ana.ribeiro@shopstream.example",
    title="Support lead",
    initials="AR",
    colour="#1264a3",
    roles=("refund_approver",),
)
BEN = Person(
    id="ben",
    name="Ben Ortiz",
    slack_user_id="U07BENORTIZ",
    email="ben.ortiz@shopstream.example",
    title="Support specialist",
    initials="BO",
    colour="#2b7a4b",
    roles=("refund_approver",),
)
MIA = Person(
    id="mia",
    name="Mia Lindqvist",
    slack_user_id="U07MIALINDQ",
    email="mia.lindqvist@shopstream.example",
    title="Refunds manager",
    initials="ML",
    colour="#8f3a84",
    roles=("refund_manager",),
)
MAX = Person(
    id="max",
    name="Max Okonkwo",
    slack_user_id="U07MAXOKONK",
    email="max.okonkwo@shopstream.example",
    title="Head of customer care",
    initials="MO",
    colour="#b0472b",
    roles=("refund_manager",),
)
OLU = Person(
    id="olu",
    name="Olu Bankole",
    slack_user_id="U07OLUBANKO",
    email="olu.bankole@shopstream.example",
    title="On-call engineer",
    initials="OB",
    colour="#6b5b1f",
    roles=("oncall",),
)
SAM = Person(
    id="sam",
    name="Sam Whitfield",
    slack_user_id="U07SAMWHITF",
    email="sam.whitfield@shopstream.example",
    title="Support agent",
    initials="SW",
    colour="#3f5f7f",
    roles=("support_agent",),
)
GUS = Person(
    id="gus",
    name="Gus Petrov",
    slack_user_id="U07GUSPETRO",
    email="gus.petrov@courier.example",
    title="Courier partner (guest)",
    initials="GP",
    colour="#757575",
    is_restricted=True,
)

PEOPLE = (ANA, BEN, MIA, MAX, OLU, SAM, GUS)
_EVERYBODY = tuple(person.slack_user_id for person in PEOPLE)

CHANNELS = (
    Channel("C07APPROVALS", "refund-approvals", _EVERYBODY, topic="Refunds waiting for a person"),
    Channel("C07ONCALL", "oncall", _EVERYBODY, topic="Escalations and breaker alerts"),
    Channel("C07REVIEW", "refund-review", _EVERYBODY, topic="Automatic refunds, looked at after"),
)


def _group(group_id: str, handle: str, name: str, role: str) -> UserGroup:
    members = tuple(person.slack_user_id for person in PEOPLE if role in person.roles)
    return UserGroup(group_id, handle, name, members)


USER_GROUPS = (
    _group("S07APPROVERS", "refund-approvers", "Refund approvers", "refund_approver"),
    _group("S07MANAGERS", "refund-managers", "Refund managers", "refund_manager"),
    _group("S07ONCALL", "oncall", "On call", "oncall"),
    _group("S07SUPPORT", "support-agents", "Support agents", "support_agent"),
)
