"""The trail of a story as `agentack` sees it, in this process and at its command line."""

import json
import subprocess
import sys
from pathlib import Path

from agentack import (  # type: ignore[import-untyped]
    Action,
    EvaluationReport,
    Policy,
    TraceEvent,
    evaluate_events,
)

from agent.domain.agentack import Trace
from agent.domain.payload import Payload
from agent.steps.export import export_trace
from storage.audit import EVERYTHING
from storage.transaction import Store
from tests.support.doubles import START

POLICY_FILE = Path(__file__).with_suffix(".toml")
POLICY = Policy.from_toml(POLICY_FILE)


def trace_of(store: Store) -> Trace:
    """Return the trace of everything that a store's trail tells."""
    return export_trace(store, EVERYTHING, START)


def checked(trace: Trace) -> EvaluationReport:
    """Return what the checker says of a trace, which it reads as it is written."""
    written = [json.loads(json.dumps(line)) for line in trace.lines]
    events = [TraceEvent.from_dict(line, line=number) for number, line in enumerate(written, 1)]
    return evaluate_events(events, policy=POLICY)


def faults_of(store: Store) -> list[str]:
    """Return each finding of the checker, and each operation that its policy does not know."""
    trace = trace_of(store)
    findings = [f"{one.rule_id} {one.action_id}: {one.message}" for one in checked(trace).findings]
    return [*findings, *(f"{name} is not in {POLICY_FILE.name}" for name in strangers(trace))]


def strangers(trace: Trace) -> list[str]:
    """Return the operations of a trace for which the policy asks no approval and should."""
    found = set()
    for line in trace.lines:
        match line.get("action"):
            case {"operation": str(operation)}:
                gated = operation.removesuffix("-automatic")
                found |= (
                    set() if POLICY.requires_approval(Action("supportdesk", gated)) else {gated}
                )
            case _:
                pass
    return sorted(found)


def check_by_command(lines: tuple[Payload, ...] | str, folder: Path) -> tuple[int, str]:
    """Run `agentack check` as a person does and return its exit code and what it prints."""
    file = folder / "trace.jsonl"
    text = lines if isinstance(lines, str) else "".join(f"{json.dumps(line)}\n" for line in lines)
    file.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "agentack", "check", file, "--policy", POLICY_FILE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
