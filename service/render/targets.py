"""Sentences written so that their target shows them as they are: no live mention, no markup, no macro."""

import html
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import regex
from msgspec import UNSET, Meta, Struct, UnsetType

from service.render.foundry import FoundryRoll

ZERO_WIDTH = "\u200b"
GRAPHEME = regex.compile(r"\X")

# What could mean something in a target, in place of itself.
MARKDOWN_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|>~<:=])")
SLACK_MARKS = re.compile(r"([*_~`])")
ROLL20_MARKS = re.compile(r"[^\w\s,.;+→·…’«»—–-]|_", re.ASCII)
MENTION = re.compile(r"@(?=\S)")


class Target(StrEnum):
    MARKDOWN = "markdown"
    SLACK = "slack"
    HTML = "html"
    ROLL20 = "roll20"
    FOUNDRY = "foundry"


class Renderings(Struct, frozen=True, kw_only=True):
    """The answer for each target that `include` asks for."""

    markdown: Annotated[str, Meta(description="CommonMark, as Discord and Matrix read it.")] | UnsetType = UNSET
    slack: Annotated[str, Meta(description="Slack's mrkdwn.")] | UnsetType = UNSET
    html: Annotated[str, Meta(description="One paragraph.")] | UnsetType = UNSET
    roll20: Annotated[str, Meta(description="A line for Roll20's chat, whispered when secret.")] | UnsetType = UNSET
    foundry: Annotated[list[FoundryRoll], Meta(description="For Roll.fromData; Dice So Nice animates them.")] | UnsetType = (
        UNSET
    )


def markdown(text: str) -> str:
    """Every mark escaped; a zero-width space keeps @ from calling anybody."""
    return MARKDOWN_MARKS.sub(r"\\\1", MENTION.sub("@" + ZERO_WIDTH, text))


def slack(text: str) -> str:
    """Slack has no escape but its three entities: a zero-width space keeps marks and mentions from being read."""
    escaped = html.escape(MENTION.sub("@" + ZERO_WIDTH, text), quote=False)
    return SLACK_MARKS.sub(ZERO_WIDTH + r"\1" + ZERO_WIDTH, escaped)


def html_paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def roll20(text: str) -> str:
    """Roll20 evaluates what it is sent: all that is not plain text goes as an entity."""
    return ROLL20_MARKS.sub(lambda mark: f"&#{ord(mark[0])};" if mark[0].isascii() else mark[0], " ".join(text.split()))


def roll20_line(text: str, *, title: str, secret: bool) -> str:
    whisper = "/w gm " if secret else ""
    return f"{whisper}&{{template:default}} {{{{name={roll20(title)}}}}} {{{{={roll20(text)}}}}}"


def fitting(text: str, most: int | None, write: Callable[[str], str]) -> str:
    """As written for a target, in at most so many characters: the sentence is cut before it is written."""
    written = write(text)
    if most is None or len(written) <= most:
        return written
    graphemes = GRAPHEME.findall(text)
    low, high = 0, len(graphemes)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(write(_cut(graphemes, middle))) <= most else (low, middle - 1)
    return write(_cut(graphemes, low))


def _cut(graphemes: list[str], count: int) -> str:
    return "".join(graphemes[:count]).rstrip(" ,;:·+→") + "…"


def within_bytes(text: str, most: int) -> str:
    """In at most so many bytes of UTF-8, and on one line, for IRC; never inside a grapheme."""
    line = " ".join(text.split())
    if len(line.encode()) <= most:
        return line
    kept, left = "", most - len("…".encode())
    for grapheme in GRAPHEME.findall(line):
        left -= len(grapheme.encode())
        if left < 0:
            break
        kept += grapheme
    return f"{kept.rstrip(' ,;:·+→')}…"
