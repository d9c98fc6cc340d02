"""Characters that keep a text from being read as anything else, where escaping cannot."""

import re

ZERO_WIDTH = "\u200b"
ENRICHED = re.compile(r"[@&](?=\w)|\[(?=\[)|:(?=//)|www(?=\.)", re.IGNORECASE)


def inert(text: str) -> str:
    """Text for a page that enriches what it shows, as Foundry does: no inline roll, no link to a document or a site.

    Such a page reads text, not markup: an entity would not stop it, a zero-width space does.
    """
    return ENRICHED.sub(rf"\g<0>{ZERO_WIDTH}", text)
