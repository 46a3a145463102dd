"""The doctor names what is wrong and what to do, over real HTTP and on real databases."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import SecretStr
from sqlalchemy import text

from agent.domain.heads import make_head, to_line
from agent.providers.heads_file import HeadsFile
from agent.providers.system import SystemClock, SystemIds
from bot.cli import World, cli
from bot.doctor.examine import Doctor, examine
from bot.findings import Finding, State
from bot.manifest import bot_scopes, read_manifest
from bot.sandbox.cast import ANA, BEN, CHANNELS, GUS, MIA, PEOPLE, USER_GROUPS
from bot.settings import Settings
from bot.slack.channels import Channels
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.doubles import HandClock
from tests.support.slack_sandbox import (
    APPROVALS,
    BOT_TOKEN,
    ONCALL,
    SIGNING_SECRET,
    running_stage,
)
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story
from tests.support.smtp_server import mail_server
from tests.support.socket_peer import APP_TOKEN, SocketPeer

NEEDED = bot_scopes(read_manifest())
SECRETS = (
    BOT_TOKEN,
    APP_TOKEN,
    SIGNING_SECRET,
    "mail-password",
    "sk-model-key",
    "an-audit-key",
    "pg-word",
)
SANDBOX = Channels(*(channel.id for channel in CHANNELS))


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as servers:
        yield servers


@pytest.fixture
def slack_config() -> dict[str, Any]:
    """Return what of the workspace is other than usual."""
    return {}


@pytest.fixture
def story(
    servers: Servers, tmp_path: Path, store: Store, slack_config: dict[str, Any]
) -> Iterator[SlackStory]:
    config = {"scopes": NEEDED, **slack_config}
    with slack_story(servers, tmp_path, store, **config) as story:
        yield story


@dataclass
class Ward:
    """A doctor, the settings it reads, and what it prints."""

    story: SlackStory
    database_url: str
    settings: dict[str, Any] = field(default_factory=dict)
    clock: Any = field(default_factory=SystemClock)
    during: Callable[[], None] = lambda: None

    def look(self, click_wait_s: float | None = None) -> dict[str, Finding]:
        """Look at everything and return the findings by name."""
        found = list(examine(self.doctor(), click_wait_s))
        assert [f for f in found if any(secret in f"{f}" for secret in SECRETS)] == []
        assert len({one.name for one in found}) == len(found)
        assert all(bool(f.remedy) == (f.state in {State.WARNING, State.FAILED}) for f in found)
        return {one.name: one for one in found}

    def bad(self) -> dict[str, tuple[str, str]]:
        """Return what says and what advises each finding that is no warning and not all right."""
        return {
            name: (one.says, one.remedy)
            for name, one in self.look().items()
            if one.state is State.FAILED
        }

    def doctor(self) -> Doctor:
        """Return the doctor."""
        return Doctor(
            clock=self.clock,
            ids=SystemIds(),
            pause=lambda _seconds: self.during(),
            sandbox_channels=SANDBOX,
            settings=self._settings,
        )

    def _settings(self) -> Settings:
        real = {
            "database_url": SecretStr(self.database_url),
            "slack_bot_token": SecretStr(BOT_TOKEN),
            "slack_signing_secret": SecretStr(SIGNING_SECRET),
            "slack_api_url": f"{self.story.slack.config.base_url}/api/",
            "slack_approvals_channel": "#refund-approvals",
            "slack_oncall_channel": "oncall",
            "slack_review_channel": "C07REVIEW",
            # Nothing listens there.
            "port": 1,
        }
        return Settings(**{**real, **self.settings})


@pytest.fixture
def ward(story: SlackStory, database_url: str) -> Ward:
    return Ward(story, database_url)


def only_sqlite(test: Any) -> Any:
    """Run a test that has no SQL in it on one of the databases."""
    return pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)(test)


def test_a_desk_in_good_health(ward: Ward, store: Store) -> None:
    found = ward.look()
    assert ward.bad() == {}
    said = {name: one.says for name, one in found.items() if one.state is State.OK}
    assert "the bot is supportdesk in the workspace ShopStream" in said["token"]
    assert said["scopes"] == f"all {len(NEEDED)} are there, and no other"
    assert "apart" in said["clock"]
    assert said["on-call channel"] == "#oncall is there, and the bot is in it"
    assert "fallback channel" not in said
    ward.settings["slack_fallback_channel"] = "#general"
    assert "sees no channel #general" in ward.bad()["fallback channel"][0]
    assert said["role refund_manager"] == "@refund-managers has 2 people who may decide"
    assert said["role support_agent"] == "1 person to answer customers and decide nothing"
    assert "has the schema 0005 and can be written" in said["database"]
    has_server = store.dialect == "postgresql"
    assert found["database clock"].state is (State.OK if has_server else State.SKIPPED)
    warnings = {name for name, one in found.items() if one.state is State.WARNING}
    assert warnings == {"desk", "public url", "mail", "model", "payments", "audit key", "chat"}


Break = Callable[[SlackStory], None]


def _act(path: str, **body: object) -> Break:
    status = 200 if path == "/app" else 204
    return lambda story: story.slack.act(path, status, **body)


FAULTS: list[tuple[str, Break, dict[str, tuple[str, str]]]] = [
    (
        "the token is revoked",
        _act("/app", error="token_revoked"),
        {"token": ("Slack answers token_revoked", "Install the app again and put its new")},
    ),
    (
        "Slack has no time",
        _act("/faults", method="auth.test", error="ratelimited"),
        {"token": ("Slack answers ratelimited", "Wait a minute")},
    ),
    (
        "a scope is missing",
        _act("/app", scopes=[one for one in NEEDED if one != "usergroups:read"]),
        {
            "scopes": ("the app lacks usergroups:read", "install the app again"),
            "role refund_approver": ("Slack answers missing_scope", "finding about the scopes"),
            "role refund_manager": ("Slack answers missing_scope", "finding about the scopes"),
            "role oncall": ("Slack answers missing_scope", "finding about the scopes"),
        },
    ),
    (
        "a channel is archived",
        _act("/channels", channel=ONCALL, is_archived=True),
        {"on-call channel": ("#oncall is archived", "Unarchive #oncall")},
    ),
    (
        "the bot was taken out of a channel",
        _act("/channels", channel=APPROVALS, is_member=False),
        {"approvals channel": ("the bot is not in #refund-approvals", "/invite @Supportdesk")},
    ),
    (
        "a channel is shared",
        _act("/channels", channel="refund-review", is_ext_shared=True),
        {"review channel": ("is shared with another company", "Take another channel")},
    ),
    (
        "a channel is gone",
        _act("/channels", channel="refund-review", is_deleted=True),
        {"review channel": ("the bot sees no channel C07REVIEW", "invite the bot")},
    ),
    (
        "a named channel is gone",
        _act("/channels", channel=ONCALL, is_deleted=True),
        {"on-call channel": ("the bot sees no channel oncall", "Correct the name")},
    ),
    (
        "a user group is gone",
        _act("/groups", group="oncall", is_disabled=True),
        {"role oncall": ("there is no user group @oncall", "Make the user group @oncall")},
    ),
    (
        "a user group is empty",
        _act("/groups", group="oncall", members=[]),
        {"role oncall": ("@oncall is empty", "Put people into @oncall")},
    ),
    (
        "a user group has a guest alone",
        _act("/groups", group="oncall", members=["gus"]),
        {"role oncall": (f"{GUS.slack_user_id} is a guest", "members of this workspace, no gue")},
    ),
    (
        "the plan has no user groups",
        _act("/faults", method="usergroups.list", error="plan_upgrade_required"),
        {
            f"role {role}": ("plan has no user groups", "Name the people in the policy file")
            for role in ("refund_approver", "refund_manager", "oncall")
        },
    ),
]


@only_sqlite
def test_each_fault_of_slack_is_named_alone(ward: Ward) -> None:
    for fault, break_it, expected in FAULTS:
        break_it(ward.story)
        found = ward.bad()
        assert found.keys() == expected.keys(), (fault, found)
        for name, (says, remedy) in expected.items():
            assert says in found[name][0], fault
            assert remedy in found[name][1], fault
        mend(ward.story)
        assert ward.bad() == {}, fault


def mend(story: SlackStory) -> None:
    """Make the workspace what it was."""
    story.slack.act("/app", scopes=list(NEEDED), error="")
    story.slack.act("/faults/clear", 204)
    for channel in CHANNELS:
        whole = {"is_archived": False, "is_deleted": False, "is_ext_shared": False}
        story.slack.act("/channels", 204, channel=channel.id, is_member=True, **whole)
    for group in USER_GROUPS:
        members = list(group.members)
        story.slack.act("/groups", 204, group=group.id, members=members, is_disabled=False)


@only_sqlite
def test_slack_that_cannot_be_reached_is_told_from_a_bad_token(ward: Ward) -> None:
    ward.settings["slack_api_url"] = "http://127.0.0.1:1/api/"
    says, remedy = ward.bad()["token"]
    assert "refused" in says
    assert remedy == "See that this machine reaches http://127.0.0.1:1/api/, then try again."


@only_sqlite
def test_socket_mode_is_tried_without_taking_the_connection_up(
    ward: Ward, servers: Servers
) -> None:
    peer = SocketPeer()
    servers.slack.app = peer.in_front_of(servers.slack.app)
    ward.settings |= {"slack_app_token": SecretStr(APP_TOKEN), "slack_signing_secret": None}
    found = ward.look()
    assert found["socket"].says == "Slack offers a connection"
    assert (found["public url"].state, peer.opened) == (State.SKIPPED, 0)
    peer.refusals.append((200, {"ok": False, "error": "not_allowed_token_type"}, {}))
    says, remedy = ward.bad()["socket"]
    assert says == "Slack opens no connection: not_allowed_token_type"
    assert "an app-level token with connections:write" in remedy


@only_sqlite
@pytest.mark.parametrize(
    ("minutes", "state"), [(0.4, State.OK), (2, State.WARNING), (-6, State.FAILED)]
)
def test_a_clock_that_is_off_is_measured(ward: Ward, minutes: float, state: State) -> None:
    ward.clock = HandClock(SystemClock().now() + timedelta(minutes=minutes))
    found = ward.look()["clock"]
    assert found.state is state
    assert ("every click is refused" in found.says) == (state is State.FAILED)


@only_sqlite
@pytest.mark.parametrize(
    "slack_config",
    [
        {
            "scopes": (*NEEDED, "channels:manage"),
            "channels": (
                replace(CHANNELS[0], members=(ANA.slack_user_id, MIA.slack_user_id)),
                *CHANNELS[1:],
            ),
            "people": tuple(replace(one, deleted=one is MIA) for one in PEOPLE),
        }
    ],
)
def test_what_works_but_not_well_is_a_warning(ward: Ward) -> None:
    found = ward.look()
    assert ward.bad() == {}
    assert "channels:manage" in found["scopes"].says
    assert found["role refund_approver"].says == (
        f"2 of @refund-approvers may decide, but {BEN.slack_user_id} is not in the approvals "
        "channel and sees no card"
    )
    assert f"{MIA.slack_user_id} is deactivated" in found["role refund_manager"].says
    assert "1 may answer customers, but" in found["role support_agent"].says
    states = {found[name].state for name in ("scopes", "role refund_approver", "role oncall")}
    assert states == {State.WARNING}


def test_a_click_goes_from_slack_to_the_desk_and_is_written_down(ward: Ward) -> None:
    pressed: list[dict[str, Any]] = []

    def press_once() -> None:
        if not pressed:
            (card,) = ward.story.posted(ONCALL)
            pressed.append(ward.story.presses("sam", card, "doctor_click"))

    ward.during = press_once
    found = ward.look(5)["click"]
    assert (found.state, pressed[0]["status"]) == (State.OK, 200)
    assert "U07SAMWHITF went from Slack to the running desk" in found.says
    (card,) = ward.story.posted(ONCALL)
    assert "the click has reached the desk" in card["text"]
    assert [block["type"] for block in card["blocks"]] == ["context"]
    assert ward.story.trail().count("click.tested") == 1
    forged = ward.story.presses("gus", card, "doctor_click", "no nonce of ours")
    assert forged["status"] == 200
    assert ward.story.trail().count("click.tested") == 1


@only_sqlite
def test_a_click_that_does_not_come_is_waited_for_in_vain(ward: Ward) -> None:
    waits: list[int] = []
    ward.during = lambda: waits.append(1)
    found = ward.look(2)["click"]
    assert found.state is State.FAILED
    assert found.says == "no click reached the desk within 2 s"
    assert "SLACK_SIGNING_SECRET" in found.remedy
    assert len(waits) == 9
    (card,) = ward.story.posted(ONCALL)
    assert "no click came" in card["text"]
    ward.story.slack.act("/channels", 204, channel=ONCALL, is_member=False)
    assert "not_in_channel" in ward.look(2)["click"].says
    ward.story.slack.act("/app", error="invalid_auth")
    assert ward.look(2)["click"].state is State.SKIPPED


@pytest.mark.parametrize("damage", ["0001", "9999", "trigger"])
def test_a_database_that_does_not_fit_is_told_what_to_do(
    ward: Ward, store: Store, damage: str
) -> None:
    expected = {
        "0001": ("has the schema 0001, this code needs", "agent db upgrade"),
        "9999": ("9999, which this code does not know", "Run the version"),
        "trigger": ("cannot be written: the disk is full", "the right to write"),
    }
    engine = open_engine(ward.database_url)
    with engine.begin() as connection:
        if damage == "trigger":
            _refuse_writes(connection, store.dialect)
        else:
            connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": damage})
    engine.dispose()
    says, remedy = ward.bad()["database"]
    assert expected[damage][0] in says
    assert expected[damage][1] in remedy


def _refuse_writes(connection: Any, dialect: str) -> None:
    if dialect == "sqlite":
        connection.execute(
            text(
                "CREATE TRIGGER full_disk BEFORE INSERT ON settings "
                "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
        )
        return
    connection.execute(
        text(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$"
        )
    )
    connection.execute(
        text(
            "CREATE TRIGGER full_disk BEFORE INSERT ON settings "
            "FOR EACH ROW EXECUTE FUNCTION full_disk()"
        )
    )


@only_sqlite
def test_a_database_that_is_not_there_is_not_made(ward: Ward, tmp_path: Path) -> None:
    path = tmp_path / "none" / "desk.db"
    ward.database_url = f"sqlite:///{path}"
    assert "is empty" in ward.bad()["database"][0]
    assert not path.parent.exists()
    ward.database_url = "postgresql://nobody:pg-word@127.0.0.1:1/desk"
    says, remedy = ward.bad()["database"]
    assert "postgresql://nobody:***@127.0.0.1:1/desk" in says
    assert "DATABASE_URL" in remedy


@only_sqlite
def test_mail_is_tried_without_a_mail(ward: Ward) -> None:
    with mail_server() as server:
        ward.settings |= {"smtp_url": SecretStr(server.url), "mail_from": "help@shop.example"}
        found = ward.look()["mail"]
        assert found.says == f"127.0.0.1:{server.port} lets help@shop.example in"
        assert (server.mails, "MAIL" in server.commands) == ([], False)
        signed_in = f"smtp://desk:mail-password@127.0.0.1:{server.port}"
        ward.settings["smtp_url"] = SecretStr(signed_in)
        says, remedy = ward.bad()["mail"]
        assert "STARTTLS" in says
        assert "user and password" in remedy


@only_sqlite
def test_the_model_and_the_public_address_are_asked(ward: Ward) -> None:
    with running_stage() as outside:
        ward.settings |= {
            "openai_api_key": SecretStr("sk-model-key"),
            "openai_base_url": f"{outside.url}/v1",
            "openai_model": "gpt-small",
            "public_url": outside.url,
        }
        outside.app = other_machine(models=JSONResponse(_models("gpt-small")), door=401)
        found = ward.look()
        assert found["model"].says == "the server has gpt-small"
        assert found["public url"].says.endswith("but Slack sends to https only")

        outside.app = other_machine(models=JSONResponse(_models("gpt-large")), door=200)
        found = ward.look()
        assert found["model"].remedy == "Set OPENAI_MODEL to one of: gpt-large."
        assert "answers 200 to what nobody signed, not 401" in found["public url"].says

        outside.app = other_machine(models=JSONResponse({"error": {}}, 401), door=401)
        assert "answered 401" in ward.look()["model"].says
        outside.app = FastAPI()
        found = ward.look()
        assert found["model"].state is State.WARNING
        assert found["public url"].says.endswith("/healthz answers 404")
    found = ward.look()
    assert "not reachable" in found["model"].says
    assert "proxy" in found["public url"].remedy


def other_machine(*, models: Response, door: int) -> FastAPI:
    """Return a model's server and a proxy in front of a desk in one."""
    app = FastAPI()
    app.get("/v1/models")(lambda: models)
    app.get("/healthz")(lambda: {"status": "up"})
    app.post("/slack/events")(lambda: Response(status_code=door))
    return app


def _models(name: str) -> dict[str, object]:
    one = {"id": name, "object": "model", "created": 1, "owned_by": "x"}
    return {"object": "list", "data": [one]}


@only_sqlite
def test_the_key_of_the_trail_is_held_against_the_copy(ward: Ward, tmp_path: Path) -> None:
    key = "an-audit-key-of-thirty-two-bytes-and-more"
    path = tmp_path / "heads.jsonl"
    ward.settings |= {"audit_key": SecretStr(key), "audit_heads_file": path}
    assert ward.look()["audit key"].state is State.OK
    path.write_text(f"{to_line(make_head(None, (), 1, key.encode()))}\n")
    assert list(HeadsFile(path).lines())
    assert ward.look()["audit key"].state is State.OK
    path.write_text(f"{to_line(make_head(None, (), 1, b'another-key'))}\n")
    assert "is signed with another key" in ward.bad()["audit key"][0]
    path.write_text("torn\n")
    assert "cannot be read" in ward.bad()["audit key"][0]


@only_sqlite
def test_in_the_sandbox_slack_is_found_in_the_running_desk(ward: Ward, servers: Servers) -> None:
    alone: dict[str, Any] = {
        "slack_bot_token": None,
        "slack_signing_secret": None,
        "slack_approvals_channel": None,
        "slack_oncall_channel": None,
        "slack_review_channel": None,
    }
    ward.settings |= alone
    says, remedy = ward.bad()["slack"]
    assert "none answers at http://127.0.0.1:1" in says
    assert "make run" in remedy
    ward.settings["port"] = int(servers.slack.url.rpartition(":")[2])
    found = ward.look(5)
    assert {name: f.says for name, f in found.items() if f.state is State.FAILED} == {
        "desk": f"it runs at {servers.slack.url}, but something is not ready"
    }
    assert "U07OLUBANKO went from Slack to the running desk" in found["click"].says
    warnings = {name for name, one in found.items() if one.state is State.WARNING}
    assert warnings == {"audit key"}


def printed(ward: Ward, *words: str) -> Result:
    """Run `agent doctor …`."""
    world = World(
        open_desk=_no_desk,
        upgrade=lambda: "",
        os_user="ana",
        checkup=lambda wait_s: examine(ward.doctor(), wait_s),
    )
    return CliRunner().invoke(cli, ["doctor", *words], obj=world)


def _no_desk() -> Any:
    raise AssertionError("a look opens no desk")


@only_sqlite
def test_the_command_says_what_to_do_and_ends_with_one(ward: Ward) -> None:
    well = printed(ward)
    assert (well.exit_code, well.stderr) == (0, "")
    assert well.stdout.splitlines()[-1].endswith("findings; nothing keeps the desk from its work")
    assert "\nok       scopes                all " in well.stdout
    ward.story.slack.act("/channels", 204, channel=ONCALL, is_archived=True)
    ill = printed(ward)
    assert ill.exit_code == 1
    assert "\nFAILED   on-call channel       #oncall is archived\n" in ill.stdout
    assert "-> Unarchive #oncall or name another channel.\n" in ill.stdout
    assert ill.stderr.startswith("not_well: 1 of ")
    told = json.loads(printed(ward, "--json").stdout)
    assert told["ok"] is False
    (fault,) = [one for one in told["findings"] if one["state"] == "failed"]
    assert (fault["name"], fault["says"]) == ("on-call channel", "#oncall is archived")
    assert not [secret for secret in SECRETS if secret in ill.output + json.dumps(told)]


@only_sqlite
def test_wrong_settings_end_the_look(ward: Ward, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yml"
    policy.write_text("refunds: 7\n")
    ward.settings["policy_file"] = policy
    (found,) = examine(ward.doctor(), None)
    assert (found.name, found.state) == ("settings", State.FAILED)
    assert "policy.yml" in found.says
    assert printed(ward).exit_code == 1
