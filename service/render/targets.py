"""Sentences written so that their target shows them as they are: no live mention, no markup, no macro."""

import html
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import regex
from msgspec import UNSET, Meta, Struct, UnsetType

from service.render.foundry import FoundryRoll
from service.render.marks import ZERO_WIDTH, inert

GRAPHEME = regex.compile(r"\X")
LINE_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")

# What could mean something in a target, in place of itself.
MARKDOWN_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|>~<:=&$])")
MENTION = re.compile(r"@(?=\S)")
ROLL20_MARKS = re.compile(r"[^\w\s,.;+→·…’«»—–-]|_", re.ASCII)
SLACK_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
SLACK_SPEAKS = re.compile(r"(?P<entity>[&<>])|(?P<format>[*_~`＊＿～｀]+)|[@#:](?=\S)|(?<=\w)\.(?=[^\W\d_])")
SLACK_QUOTE = re.compile(r"^(\s*)(?=&gt;|＞)", re.MULTILINE)
SOFT_HYPHEN = "\u00ad"


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
    """Every mark escaped; a zero-width space keeps @ from calling anybody. Space in front would make code of it."""
    return MARKDOWN_MARKS.sub(r"\\\1", MENTION.sub(f"@{ZERO_WIDTH}", text.strip()))


def slack(text: str) -> str:
    """mrkdwn has no escape: marks go as the fallback of a date that cannot be formatted, which is shown as it stands.

    A zero-width space would not do: beside a mark it makes Slack read it, inside a word too. It keeps mentions, emoji
    codes and addresses from being read, and a soft hyphen a leading > from quoting.
    """
    return SLACK_QUOTE.sub(rf"\1{SOFT_HYPHEN}", SLACK_SPEAKS.sub(_slack_mark, text))


def _slack_mark(mark: re.Match[str]) -> str:
    if mark["entity"]:
        return SLACK_ENTITIES[mark["entity"]]
    return f"<!date^00000000^{{_}}|{mark['format']}>" if mark["format"] else mark[0] + ZERO_WIDTH


def html_paragraph(text: str) -> str:
    return f"<p>{html.escape(inert(text))}</p>"


def roll20(text: str) -> str:
    """Roll20 evaluates what it is sent: all that is not plain text goes as an entity."""
    return ROLL20_MARKS.sub(lambda mark: f"&#{ord(mark[0])};" if mark[0].isascii() else mark[0], one_line(text))


def roll20_line(text: str, *, title: str, secret: bool, most: int | None = None, most_bytes: int | None = None) -> str:
    """Where room is little, the title gets a quarter of it at most; where a template finds none, the text goes bare."""
    whisper = "/w gm " if secret else ""
    over = fitting(title, most and most // 4, most_bytes and most_bytes // 4, roll20)

    def template(said: str) -> str:
        return f"{whisper}&{{template:default}} {{{{name={over}}}}} {{{{={roll20(said)}}}}}"

    def bare(said: str) -> str:
        return whisper + roll20(said)

    return fitting(text, most, most_bytes, template if _is_within(template("…"), most, most_bytes) else bare)


def one_line(text: str) -> str:
    return LINE_BREAKS.sub(" ", text).strip()


def fitting(text: str, most: int | None, most_bytes: int | None, write: Callable[[str], str]) -> str:
    """As written for a target, in at most so many characters and bytes: the sentence is cut before it is written."""
    written = write(text)
    if _is_within(written, most, most_bytes):
        return written
    graphemes = GRAPHEME.findall(text)
    low, high = 0, len(graphemes)
    while low < high:
        middle = (low + high + 1) // 2
        fits = _is_within(write(_cut(graphemes, middle)), most, most_bytes)
        low, high = (middle, high) if fits else (low, middle - 1)
    return write(_cut(graphemes, low))


def _is_within(written: str, most: int | None, most_bytes: int | None) -> bool:
    return (most is None or len(written) <= most) and (most_bytes is None or len(written.encode()) <= most_bytes)


def _cut(graphemes: list[str], count: int) -> str:
    return "".join(graphemes[:count]).rstrip(" ,;:·+→") + "…"


def within_bytes(text: str, most: int) -> str:
    """In at most so many bytes of UTF-8, and on one line, for IRC; never inside a grapheme."""
    line = one_line(text)
    if len(line.encode()) <= most:
        return line
    kept, left = "", most - len("…".encode())
    for grapheme in GRAPHEME.findall(line):
        left -= len(grapheme.encode())
        if left < 0:
            break
        kept += grapheme
    return f"{kept.rstrip(' ,;:·+→')}…"
