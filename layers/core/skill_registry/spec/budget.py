"""A listing within a budget of tokens: every name stays, and descriptions are shortened alike.

A token is taken for four characters (code points), as the seeds count. Text in other scripts than
Latin has more tokens than that.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skill_registry.spec.rendering import MARKDOWN
from skill_registry.spec.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skill_registry.spec.rendering import Form, ListedSkill

CHARACTERS_A_TOKEN = 4
ELLIPSIS = "…"

# No word of a script that parts words with blanks is longer; Thai and Khmer are cut anywhere.
_LONGEST_WORD = 40
_LOOSE_ENDS = " ,;:.(/&–—-"
_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A listing that fits.

    Attributes:
        skills: Those that are shown, in the given order. A shortened description ends in "…".
        shortened: How many descriptions were cut.
        omitted: How many skills are left out at the end, because not even their names fit.
    """

    skills: tuple[ListedSkill, ...]
    shortened: int = 0
    omitted: int = 0


def estimated_tokens(text: str) -> int:
    """Return the tokens that a text is taken for: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def fit(skills: Iterable[ListedSkill], max_tokens: int, form: Form = MARKDOWN) -> Fitted:
    """Shorten descriptions until the listing is taken for at most ``max_tokens``.

    Fairly: one length is the most for every description, the largest one that fits, so that a
    short description stays whole and long ones end up alike. Cuts are at the ends of words, and
    never inside a character. The same input gives the same output. Hidden skills do not count.

    Args:
        form: How the listing is rendered; its frame and its escapes count.
    """
    shown = [skill for skill in skills if not skill.hidden]
    texts = [one_line(skill.description) for skill in shown]
    bare = [len(form.entry(replace(skill, description=""))) for skill in shown]
    room = max_tokens * CHARACTERS_A_TOKEN - len(form.opening) - len(form.closing)
    if sum(bare) + _cost(texts, None, form) <= room:
        return Fitted(tuple(shown))
    kept = _count_that_fits(bare, texts, room, form)
    room -= sum(bare[:kept])
    longest = _longest_that_fits(texts[:kept], room, form)
    skills = (
        replace(skill, description=shorten(text, longest)) if len(text) > longest else skill
        for skill, text in zip(shown[:kept], texts, strict=False)
    )
    shortened = sum(len(text) > longest for text in texts[:kept])
    return Fitted(tuple(skills), shortened, len(shown) - kept)


def shorten(text: str, length: int) -> str:
    """Return a text of one line cut to at most ``length`` characters, the mark of the cut included.

    A longer ``length`` never gives a shorter text.
    """
    if len(text) <= length:
        return text
    return text[: _cut(text, length - len(ELLIPSIS))].rstrip(_LOOSE_ENDS) + ELLIPSIS


def _count_that_fits(bare: Sequence[int], texts: Sequence[str], room: int, form: Form) -> int:
    """Count the skills that fit with their descriptions cut to the mark."""
    for count, (name, text) in enumerate(zip(bare, texts, strict=True)):
        room -= name + _cost([text], 1, form)
        if room < 0:
            return count
    return len(texts)


def _longest_that_fits(texts: Sequence[str], room: int, form: Form) -> int:
    """Return the largest length that fits when no description is longer; 1 fits."""
    low, high = 1, max(map(len, texts), default=1)
    while low < high:
        middle = (low + high + 1) // 2
        if _cost(texts, middle, form) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _cost(texts: Sequence[str], longest: int | None, form: Form) -> int:
    """Return the characters of all descriptions, none of them longer than ``longest``."""
    cut = texts if longest is None else [shorten(text, longest) for text in texts]
    return sum(len(form.text(text)) for text in cut)


def _cut(text: str, limit: int) -> int:
    """Return where to cut a text that is longer than ``limit``: behind its last whole word."""
    first = max(limit - _LONGEST_WORD, 0) + 1
    if text.isascii():
        end = text.rfind(" ", first, limit + 1)
    else:
        ends = (end for end in range(limit, first - 1, -1) if _is_word_end(text, end))
        end = next(ends, -1)
    if end >= 0:
        return end
    if limit <= _LONGEST_WORD:
        return 0
    end = limit
    while end and _is_inside_character(text, end):
        end -= 1
    return end


def _is_word_end(text: str, index: int) -> bool:
    if text[index] == " ":
        return True
    # Chinese and Japanese words have no blanks between them, and emoji are words of their own.
    wide = any(unicodedata.east_asian_width(c) in "WF" for c in text[index - 1 : index + 1])
    return wide and not _is_inside_character(text, index)


def _is_inside_character(text: str, index: int) -> bool:
    """Tell whether what a reader sees as one character goes on at the index."""
    following = text[index]
    return (
        unicodedata.category(following).startswith("M")
        or _ZERO_WIDTH_JOINER in (following, text[index - 1])
        or _SKIN_TONES[0] <= following <= _SKIN_TONES[1]
    )
