"""`agent`: runs, breaker, audit, database, people and the shop, from the command line."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import text

from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.roles import Identity, Role
from agent.steps.receive import token_hash
from bot.cli import cli
from storage import audit, people
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.order_export import SMALL_EXPORT, export, line
from tests.support.shared_data import full_export
from tests.support.terminal import Terminal, value


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    return tell_story(store, clock, ids)


@pytest.fixture
def terminal(story: Story) -> Terminal:
    return Terminal(story)


def told(story: Story, tag: AuditType) -> list[dict[str, object]]:
    """Return the actor and the particulars of every event of a kind."""
    with story.desk.store.transaction(write=False) as tx:
        bodies = [json.loads(fact.body) for fact in audit.walk(tx) if fact.type == tag]
    return [{"by": body["actor"], **body["data"]} for body in bodies]


# --- runs ----------------------------------------------------------------------------------------


def test_runs_are_listed_and_shown(story: Story, terminal: Terminal) -> None:
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "160.00")
    story.model.says("Hello!")
    story.says(chat, "hi")
    parked = story.only(Status.PENDING)
    header, newest, oldest = terminal.run("runs", "list").stdout.splitlines()
    assert header.split()[:2] == ["RUN", "STATUS"]
    assert newest.split()[1] == "done"
    assert oldest.split() == [
        parked.run_id,
        "parked",
        "2",
        "2026-11-29T12:00:00Z",
        "2026-11-29T12:00:00Z",
        chat,
        "-",
    ]
    for status in ("parked", "pending"):
        (only,) = terminal.run("runs", "list", "--status", status).stdout.splitlines()[1:]
        assert only.startswith(parked.run_id)
    (done,) = rows(terminal, "runs", "list", "--status", "done", "--json")
    assert done["status"] == "done"
    assert len(rows(terminal, "runs", "list", "--limit", "1", "--json")) == 1
    shown = terminal.json("runs", "show", parked.run_id)
    assert isinstance(shown, dict)
    assert (shown["run_id"], shown["status"]) == (parked.run_id, "parked")
    assert shown["expires_at"] == "2026-11-29T12:30:00Z"
    assert [one["name"] for one in shown["pending_tools"]] == ["issue_refund"]


def test_a_checkpoint_is_the_same_json_with_nothing_unseen_in_it(
    story: Story, terminal: Terminal
) -> None:
    words = "h\u202e\u200b\x9b\U000e0041 \u00fcber \U0001f600"
    story.model.says("Hello!")
    story.says(story.opens_chat(), words)
    run_id = rows(terminal, "runs", "list", "--json")[0]["run_id"]
    shown = terminal.run("runs", "show", str(run_id)).stdout
    assert json.loads(shown)["messages"][0]["content"] == words
    assert "\u00fcber \U0001f600" in shown
    assert not any(char in shown for char in "\u202e\u200b\x9b\U000e0041")


def test_a_run_that_is_not_there(terminal: Terminal) -> None:
    assert terminal.run("runs", "show", "run_none", code=1).stderr == (
        "not_found: There is no run run_none.\n"
    )
    terminal.run("runs", "list", "--status", "sleeping", code=2)


# --- breaker, audit, database --------------------------------------------------------------------


def test_the_breaker_is_shown_and_reset_by_a_manager(story: Story, terminal: Terminal) -> None:
    story.hire("ana", Role.REFUND_APPROVER)
    story.hire("mia", Role.REFUND_MANAGER)
    shown = terminal.run("breaker", "status")
    assert (value(shown, "state"), value(shown, "max")) == ("closed", "5")
    assert (value(shown, "opens_again_at"), value(shown, "stopped")) == ("-", "no")
    assert terminal.json("breaker", "status", "--json") == {
        "state": "closed",
        "admitted_in_window": 0,
        "window_s": 60,
        "max": 5,
        "opens_again_at": None,
        "stopped": False,
        "stop": None,
    }
    reset = ("breaker", "reset", "--reason", "the cause is mended")
    assert terminal.run(*reset, code=1).stderr.startswith("not_allowed: ")
    mia = Terminal(story, "mia")
    assert mia.run("breaker", "reset", "--reason", "ok", code=1).stderr.startswith(
        "reason_required: "
    )
    assert mia.run(*reset, code=1).stderr == "already_decided: The breaker is closed.\n"
    story.happens("UPDATE breaker SET state = 'open'")
    done = mia.run(*reset)
    assert (value(done, "state"), value(done, "generation")) == ("closed", "1")
    terminal.run("breaker", "reset", code=2)


def test_everything_is_stopped_and_goes_on(story: Story, terminal: Terminal) -> None:
    story.hire("ana", Role.REFUND_APPROVER)
    story.hire("olu", Role.ONCALL)
    story.hire("mia", Role.REFUND_MANAGER)
    olu, mia = Terminal(story, "olu"), Terminal(story, "mia")
    stop = ("breaker", "stop", "--reason", "the provider pays twice")
    lift = ("breaker", "lift", "--reason", "it is mended")
    assert terminal.run(*stop, code=1).stderr.startswith("not_allowed: ")
    assert mia.run(*lift, code=1).stderr == "already_decided: Nothing is stopped.\n"
    assert olu.run(*stop).stdout == "stopped  yes\n"
    assert mia.run(*stop, code=1).stderr == "stopped: Everything is stopped already.\n"
    shown = terminal.run("breaker", "status")
    assert value(shown, "stopped by") == "Olu"
    assert value(shown, "stopped at") == "2026-11-29T12:00:00Z"
    assert value(shown, "stopped reason") == "the provider pays twice"
    assert olu.run(*lift, code=1).stderr.startswith("not_allowed: ")
    assert mia.run(*lift).stdout == "stopped  no\n"
    assert "stopped by" not in terminal.run("breaker", "status").stdout
    terminal.run("breaker", "stop", code=2)


def test_without_its_row_the_breaker_says_so(story: Story, terminal: Terminal) -> None:
    story.damages("DELETE FROM breaker")
    for words in (("status",), ("stop", "--reason", "to be safe")):
        refused = terminal.run("breaker", *words, code=1)
        assert refused.stderr == "breaker_missing: the breaker's row is missing\n"


def test_the_trail_is_verified(story: Story, terminal: Terminal) -> None:
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    parked = story.only(Status.PENDING)
    events = len(story.trail())
    assert terminal.run("audit", "verify").stdout == f"ok: {events} events, 1 chains, 1 approvals\n"
    with story.desk.store.transaction() as tx:
        changed = text("UPDATE approvals SET payload = replace(payload, '16000', '16001')")
        assert tx.change(changed) == 1
    broken = terminal.run("audit", "verify", code=1)
    (named,) = broken.stdout.splitlines()
    assert named.startswith(f"chain {parked.run_id} seq ")
    assert f"approval {parked.id}: the payload does not have the hash" in named
    assert broken.stderr == f"broken: 1 problems in {events} events, 1 chains, 1 approvals\n"


def test_the_database_is_upgraded(terminal: Terminal) -> None:
    assert value(terminal.run("db", "upgrade"), "revision") == "0001"


# --- people --------------------------------------------------------------------------------------


def test_somebody_is_added_given_roles_and_a_token(story: Story, terminal: Terminal) -> None:
    added = terminal.run(
        *("actor", "add", "Mia Lind", "--role", "refund_manager", "--role", "oncall"),
        *("--slack", "T01:U02", "--cli", "mia", "--customer", "cus_ben"),
    ).stdout.strip()
    terminal.run("actor", "grant", "slack:T01:U02", "refund_approver")
    assert terminal.run("actor", "grant", added, "oncall").stdout.split()[1:] == [
        *("Mia", "Lind:", "had", "oncall", "already"),
    ]
    terminal.run("actor", "revoke", "cli:mia", "oncall")
    refused = terminal.run("actor", "revoke", "cli:mia", "oncall", code=1)
    assert refused.stderr == "not_granted: Mia Lind was not given oncall here.\n"
    token = terminal.run("actor", "token", added).stdout.strip()
    with story.desk.store.transaction(write=False) as tx:
        found = people.find(tx, Identity("token", token_hash(token)))
    assert found is not None
    assert found.id == added
    assert found.roles() == {Role.REFUND_MANAGER, Role.REFUND_APPROVER}
    listed = terminal.run("actor", "list").stdout
    assert token not in listed
    assert token_hash(token) not in listed
    assert listed.splitlines()[1].split()[-2:] == [
        "refund_approver(fixed),refund_manager(fixed)",
        "cli:mia,customer:cus_ben,slack:T01:U02,token",
    ]
    changes = told(story, AuditType.ACTOR_CHANGED)
    assert {change["by"] for change in changes} == {"cli:ana"}
    assert [change["change"] for change in changes] == ["added", "granted", "revoked", "token"]


def test_two_accounts_turn_out_to_be_one_person(story: Story, terminal: Terminal) -> None:
    mia = terminal.run("actor", "add", "Mia Lind", "--cli", "mia").stdout.strip()
    other = terminal.run(
        *("actor", "add", "M. Lind", "--role", "refund_manager", "--slack", "T01:U02")
    ).stdout.strip()
    words = ("actor", "link", "cli:mia", "--slack", "T01:U02")
    for typed in ("n\n", "\n", ""):
        asked = terminal.run(*words, typed=typed, code=1)
        header, first, second, *_ = asked.stdout.splitlines()
        assert header.split()[:2] == ["ID", "NAME"]
        assert (first.split()[0], second.split()[0]) == (mia, other)
        assert second.split()[-2:] == ["refund_manager(fixed)", "slack:T01:U02"]
        question = f"Is M. Lind ({other}) the same person as Mia Lind ({mia})?"
        assert question in asked.stdout
        assert "Aborted!" in asked.stderr
        listed = terminal.run("actor", "list").stdout
        assert f"is {mia}" not in listed
    linked = terminal.run(*words, typed="y\n").stdout.splitlines()
    assert linked[-2:] == [
        f"{mia}  Mia Lind: is known as slack:T01:U02",
        f"{other}  is Mia Lind ({mia}) from now on",
    ]
    again = terminal.run("actor", "link", mia, "--slack", "T01:U02").stdout
    assert again == f"{mia}  Mia Lind: is known as slack:T01:U02\n"
    terminal.run("actor", "link", mia, "--customer", "cus_ben")
    first, second = terminal.run("actor", "list").stdout.splitlines()[1:]
    assert first.split()[-2:] == [
        "refund_manager(fixed)",
        "cli:mia,customer:cus_ben,slack:T01:U02",
    ]
    assert second.split()[0] == other
    assert f"  is {mia}  " in second
    gone = terminal.run("actor", "grant", other, "oncall", code=1)
    assert gone.stderr == f"invalid: actor: is {mia} by another account\n"
    changes = [change["change"] for change in told(story, AuditType.ACTOR_CHANGED)]
    assert changes == ["added", "added", "merged", "linked"]


def test_two_accounts_are_joined_unasked_with_yes(story: Story, terminal: Terminal) -> None:
    mia = terminal.run("actor", "add", "Mia Lind", "--cli", "mia").stdout.strip()
    other = terminal.run("actor", "add", "M. Lind", "--slack", "T01:U02").stdout.strip()
    linked = terminal.run("actor", "link", mia, "--slack", "T01:U02", "--yes")
    assert value(linked, other) == f"is Mia Lind ({mia}) from now on"
    assert "same person" not in linked.stdout
    # An account that leads to nobody yet is no second person.
    assert "same person" not in terminal.run("actor", "link", mia, "--cli", "lind").stdout
    changes = [change["change"] for change in told(story, AuditType.ACTOR_CHANGED)]
    assert changes == ["added", "added", "merged", "linked"]


def test_what_cannot_be_is_refused(story: Story, terminal: Terminal) -> None:
    for words, said, code in (
        (("add", "Eve", "--role", "boss"), "'boss' is not one of", 2),
        (("add", "Eve", "--slack", "U01"), "invalid: slack: 'U01' is not TEAM:USER", 1),
        (("add", "Eve", "--customer", "cus_x"), "invalid: customer: the shop knows no 'cus_x'", 1),
        (("add", "Eve\u202e"), "invalid: name: ", 1),
        (("add", "Eve\x07"), "holds characters that are no text", 2),
        (("grant", "act_none", "oncall"), "not_found: There is no actor act_none.", 1),
        (("revoke", "cli:eve", "oncall"), "not_found: There is no actor cli:eve.", 1),
        (("token", "act_none"), "not_found: There is no actor act_none.", 1),
        (("link", "act_none", "--cli", "eve"), "not_found: There is no actor act_none.", 1),
        (("link", "act_none"), "Give one of --slack, --cli and --customer.", 2),
        (("link", "act_none", "--cli", "eve", "--slack", "T1:U1"), "Give one of --slack", 2),
    ):
        refused = terminal.run("actor", *words, code=code)
        assert refused.stdout == ""
        assert said in refused.stderr
    assert told(story, AuditType.ACTOR_CHANGED) == []


# --- the shop ------------------------------------------------------------------------------------


def test_an_export_is_imported_once(story: Story, terminal: Terminal) -> None:
    for added, unchanged in (("9", "0"), ("0", "9")):
        done = terminal.run("shop", "import", str(SMALL_EXPORT))
        assert done.stderr == "Importing orders_export_small.csv\n"
        assert done.stdout.splitlines() == [
            f"added      {added}",
            f"unchanged  {unchanged}",
            "updated    0",
            "bad rows   0",
        ]
    first, second = told(story, AuditType.SHOP_IMPORTED)
    assert first == {
        "by": "cli:ana",
        "file": "orders_export_small.csv",
        "added": 9,
        "unchanged": 0,
        "updated": 0,
        "bad_rows": 0,
    }
    assert second["unchanged"] == 9


def test_each_bad_row_is_named_and_the_others_are_imported(
    story: Story, terminal: Terminal, tmp_path: Path
) -> None:
    file = save(tmp_path, line(), line(Name="#T2", Total="x\u202ey"), line(Name="#T3", Email=""))
    done = terminal.run("shop", "import", file)
    assert value(done, "added") == "1"
    header, *bad = done.stdout.splitlines()[4:]
    assert header.split() == ["ROW", "ORDER", "FIELD", "PROBLEM"]
    assert [row.split()[:3] for row in bad] == [["3", "#T2", "Total"], ["4", "#T3", "Email"]]
    assert "\\u202e" in bad[0]
    assert story.desk.shop.order("T1") is not None


def test_a_file_of_bad_rows_alone_imports_nothing(terminal: Terminal, tmp_path: Path) -> None:
    refused = terminal.run("shop", "import", save(tmp_path, line(Total="x")), code=1)
    assert refused.stderr.endswith("nothing_imported: No order of the file could be imported.\n")
    assert value(refused, "bad rows") == "1"


def test_a_file_without_orders_has_nothing_to_do(terminal: Terminal, tmp_path: Path) -> None:
    assert value(terminal.run("shop", "import", save(tmp_path)), "added") == "0"


def test_a_file_that_is_no_export_cannot_be_read(
    story: Story, terminal: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "orders.csv"
    for content in (b"", b"a,b\n1,2\n", b"\xff\xfe\x00"):
        file.write_bytes(content)
        refused = terminal.run("shop", "import", str(file), code=2)
        assert "unreadable: row 1, header: " in refused.stderr
        assert refused.stdout == ""
    assert told(story, AuditType.SHOP_IMPORTED) == []


def test_a_file_that_is_not_there_cannot_be_read(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("shop", "import", str(tmp_path / "none.csv"), code=2)
    terminal.run("shop", "import", str(tmp_path), code=2)
    # A file that fails while it is read: this process's own memory has nothing at its beginning.
    failing = terminal.run("shop", "import", "/proc/self/mem", code=2)
    assert failing.stderr.startswith("unreadable: /proc/self/mem cannot be read: ")


def test_the_full_export_comes_in(terminal: Terminal) -> None:
    assert value(terminal.run("shop", "import", str(full_export())), "added") == "1000"


# --- every command -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "group",
    ["", "runs", "pending", "breaker", "reviews", "customers", "audit", "shop", "db", "actor"],
)
def test_each_group_says_in_a_line_what_each_command_does(group: str) -> None:
    shown = CliRunner().invoke(cli, [*group.split(), "--help"])
    assert shown.exit_code == 0
    assert f"Usage: agent {group}".strip() in shown.stdout
    commands = shown.stdout.split("Commands:\n")[1].splitlines()
    assert commands
    assert not [command for command in commands if command.endswith("...")]


@pytest.mark.parametrize(
    "group", ["runs", "pending", "breaker", "reviews", "customers", "shop", "db", "actor"]
)
def test_every_command_says_which_role_it_takes(group: str) -> None:
    found = cli.commands[group]
    assert isinstance(found, click.Group)
    each = found.commands.items()
    assert [name for name, command in each if "role" not in (command.help or "")] == []


def rows(terminal: Terminal, *words: str) -> list[dict[str, object]]:
    found = terminal.json(*words)
    assert isinstance(found, list)
    return found


def save(folder: Path, *lines: bytes) -> str:
    file = folder / "orders.csv"
    file.write_bytes(b"".join(export(*lines)))
    return str(file)
