"""What a message may contain: its text, blocks and metadata, checked as Slack checks them."""

import json

from bot.sandbox.block_limits import check_message
from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_arguments import ApiError, Arguments
from bot.sandbox.slack_state import Workspace
from bot.sandbox.slack_text import stored_text

POST_TEXT_MAX = 40_000
UPDATE_TEXT_BYTES = 4_000
# Slack publishes no size for metadata; the desk stays below this, so more is a mistake.
METADATA_BYTES = 1_024


def read_blocks(
    workspace: Workspace, args: Arguments, *, total: bool = True
) -> list[JsonObject] | None:
    """Return the blocks given, as Slack keeps them; None when none are given."""
    blocks = args.structure("blocks", "invalid_blocks_format")
    if blocks is None:
        return None
    if not isinstance(blocks, list):
        raise ApiError("invalid_blocks_format", ["[ERROR] must be an array [json-pointer:/blocks]"])
    problems = check_message(blocks, total=total, lacking=workspace.config.lacking)
    if problems:
        raise ApiError.of_problems(problems)
    return workspace.stored_blocks(blocks)


def read_metadata(args: Arguments) -> JsonObject | None:
    """Return the metadata given; an empty object when it is to be removed, None when not given."""
    metadata = args.structure("metadata", "invalid_metadata_format")
    if metadata is None or metadata == {}:
        return metadata
    if (
        not isinstance(metadata, dict)
        or not isinstance(metadata.get("event_type"), str)
        or not isinstance(metadata.get("event_payload"), dict)
    ):
        reason = "[ERROR] needs event_type and event_payload [json-pointer:/metadata]"
        raise ApiError("invalid_metadata_format", [reason])
    if len(json.dumps(metadata, ensure_ascii=False).encode("utf-8", "replace")) > METADATA_BYTES:
        raise ApiError("metadata_too_large")
    return metadata


def read_content(workspace: Workspace, args: Arguments, *, total: bool = True) -> JsonObject:
    """Return `text`, `blocks` and `metadata` of a new message; one that says nothing is refused."""
    if args.structure("attachments"):
        raise ApiError("invalid_attachments", ["[ERROR] this workspace draws blocks only"])
    text = stored_text((args.text("text") or "")[:POST_TEXT_MAX])
    blocks = read_blocks(workspace, args, total=total) or []
    if not text.strip() and not blocks:
        raise ApiError("no_text")
    return {"text": text, "blocks": blocks, "metadata": read_metadata(args) or None}


def read_changes(workspace: Workspace, args: Arguments, message: JsonObject) -> JsonObject:
    """Return `text`, `blocks` and `metadata` of a message after an update.

    Blocks and metadata that are not given stay, empty ones are removed.
    """
    text = args.text("text") or ""
    blocks = read_blocks(workspace, args)
    if not text.strip() and not blocks:
        raise ApiError("no_text")
    if len(text.encode("utf-8", "replace")) > UPDATE_TEXT_BYTES:
        raise ApiError("msg_too_long")
    metadata = read_metadata(args)
    return {
        "text": stored_text(text),
        "blocks": message["blocks"] if blocks is None else blocks,
        "metadata": message["metadata"] if metadata is None else metadata or None,
    }
