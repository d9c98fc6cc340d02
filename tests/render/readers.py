"""Readers of what is written for a target: each gives back the plain text, or fails where anything else is found.

CommonMark and HTML are read by real parsers. Discord, Slack, Roll20 and Foundry are read by the parts of their grammars
that are documented or known from tools that live with them; each says which.
"""

import html
import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

ZERO_WIDTH = "\u200b"
COMMONMARK, EVERYTHING = MarkdownIt("commonmark"), MarkdownIt("js-default", {"linkify": False})


def plain(text):
    """The text as it compares: what was put in to keep marks apart cannot be seen, and lines may be joined."""
    return re.sub(r"\s*\n\s*", " ", text.replace(ZERO_WIDTH, "").replace("\u00ad", "")).strip()


def no_mention(text):
    assert not re.search(r"@(?=[^\s\u200b])", text), text


def commonmark(written, parser=COMMONMARK):
    """One paragraph of nothing but text."""
    tokens = parser.parse(written)
    assert [token.type for token in tokens] == (["paragraph_open", "inline", "paragraph_close"] if written else [])
    inside = tokens[1].children if tokens else []
    assert {token.type for token in inside} <= {"text", "text_special", "softbreak"}, inside
    read = "".join("\n" if token.type == "softbreak" else token.content for token in inside)
    no_mention(read)
    return plain(read)


def every_markdown(written):
    """Tables, strikethrough and typographic extensions on: still one paragraph of text."""
    return commonmark(written, EVERYTHING)


DISCORD = re.compile(r"\\(?P<escaped>[^0-9A-Za-z\s])|(?P<text>[^\\*_~`|<>\[\]()#:])")


def discord(written):
    """Discord's escape takes any character but letters, digits and space; every mark that it reads stands behind one.

    Marks: emphasis, spoiler, code, quote, heading, list, link, mention, emoji code, timestamp, address.
    """
    read, at = "", 0
    while at < len(written):
        token = DISCORD.match(written, at)
        assert token, f"a mark is live: {written[at:]!r}"
        read += token["escaped"] or token["text"]
        at = token.end()
    assert not re.search(r"^\s*(?:[-+]|\d+\.)\s", written, re.MULTILINE), written
    no_mention(read)
    return plain(read)


class _Markup(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.seen, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, attrs))

    def handle_endtag(self, tag):
        self.seen.append(f"/{tag}")

    def handle_data(self, data):
        self.text += data

    def _other(self, data):
        self.seen.append(data)

    handle_comment = handle_decl = handle_pi = unknown_decl = _other


def markup(written):
    parser = _Markup()
    parser.feed(written)
    parser.close()
    return parser


def enriched(text):
    """What Foundry's TextEditor would make something of: inline rolls, links to documents, addresses of sites."""
    return re.search(r"\[\[|@\w+\[|&\w+\[|https?://|www\.", text, re.IGNORECASE)


def paragraph(written):
    read = markup(written)
    assert read.seen == [("p", []), "/p"], read.seen
    assert not enriched(read.text), read.text
    return plain(read.text)


def flavor(written):
    read = markup(written)
    assert read.seen == []
    assert not enriched(read.text), read.text
    return plain(read.text)


SLACK = re.compile(r"<!date\^00000000\^\{_\}\|(?P<shown>[^<>&|]+)>|(?P<entity>&(?:amp|lt|gt);)|(?P<text>[^<>&*_~`＊＿～｀])")


def slack(written):
    """mrkdwn: `<…>` is read but for a date's fallback; three entities; marks, also wide ones; > in front quotes.

    Emoji codes, @ and # of names (link_names) and addresses are read in plain text too.
    """
    read, at, live = "", 0, ""
    while at < len(written):
        token = SLACK.match(written, at)
        assert token, f"a mark is live: {written[at:]!r}"
        said = token["shown"] or html.unescape(token["entity"] or "") or token["text"]
        live += "�" if token["shown"] else said
        read += said
        at = token.end()
    no_mention(live)
    assert not re.search(r"^\s*[>＞]", live, re.MULTILINE), live
    assert not re.search(r":[^\s:\u200b]+:|#(?=[^\s\u200b])|://|\bwww\.(?=\w)|\w\.[^\W\d_]", live), live
    return plain(read)


TEMPLATE = r"&\{template:default\} \{\{name=(?P<name>[^{}]*)\}\} \{\{=(?P<text>[^{}]*)\}\}"
LINE = re.compile(rf"(?P<whisper>/w gm )?(?:{TEMPLATE}|(?P<bare>.*))")


def roll20(written, *, bare=False):
    """One line: a whisper, the default template, and in it text without anything that Roll20's chat evaluates.

    It evaluates [[…]], @{…}, %{…}, ?{…}, #macro, and /command or !command in front, and formats * and `.
    """
    assert len(written.splitlines()) == 1, written
    line = LINE.fullmatch(written)
    assert line
    assert (line["bare"] is not None) == bare, written
    said = [line["bare"]] if bare else [line["name"], line["text"]]
    for each in said:
        evaluated = re.sub(r"&#\d{1,3};", "", each)
        assert not re.search(r"[\[\]{}()@%?#!/*_`~|&<>\"'\\$=:^]", evaluated), each
    return plain(html.unescape(said[-1]))


def roll20_title(written):
    return plain(html.unescape(LINE.fullmatch(written)["name"]))


READERS = {
    "markdown": (commonmark, every_markdown, discord),
    "slack": (slack,),
    "html": (paragraph,),
    "roll20": (roll20,),
}
