"""Inputs that are nearly right: the cases of the tests, cut, crossed and overwritten."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from case_inputs import archive_of, read_cases, skill_md_of
from hypothesis import strategies as st
from zips import make_zip, skill_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_BYTES = 200_000

_TEXT_TOKENS = (
    *(b"---", b"--- ", b"----", b"...\n", b"\n", b"\r", b"\r\n", b"\n\n", b"\xef\xbb\xbf"),
    *(b": ", b"- ", b"? ", b"&a ", b"*a", b"!!x ", b"<<: ", b"%YAML 1.1\n", b"# "),
    *(b"{", b"}", b"[", b"]", b'"', b"'", b"|", b">-", b"|9", b"\\", b"\\ud800", b"\\U00110000"),
    *(b"\t", b" ", b"\x00", b"\x07", b"\x85", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"\xf0\x9f"),
    *(b"name: ", b"description: ", b"agents: ", b"metadata:\n  ", b"upstream: ", b"min_tier: "),
    *(b"allowed-tools: ", b"disable-model-invocation: ", b"description_zh: ", b"version: "),
)
_ZIP_TOKENS = (
    *(b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x07\x08"),
    *(b"../", b"/", b"\\", b"\x00", b"SKILL.md", b"skill.md", b".version", b"__MACOSX/", b"C:"),
    *(b"\x01\x00", b"\x08\x00", b"\x0c\x00", b"\x63\x00", b"\xff\xff", b"\xff\xff\xff\xff"),
    *(b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"\x01\x00\x1c\x00" + b"\xff" * 8),
)
_CHANGES = ("cut", "insert", "overwrite", "repeat", "cross", "keep")
_NAMES = st.sampled_from(
    [
        *("SKILL.md", "k/SKILL.md", "K/skill.md", "k/Skill.MD", "a/b/SKILL.md", "./SKILL.md"),
        *("k/a.md", "k\\a.md", "k/A.md", "k/", "k/a", "k/a/b", "../x", "/etc/x", "C:/x", "k//x"),
        *("k/./x", "k/../../x", "k/a\x00.md", "k/a\nb", "k/café", "k/cafe\u0301", "k/" + "x" * 300),
        *("__MACOSX/._x", "k/.DS_Store", "k/.git/config", ".version", "k/.version", "", "."),
    ]
) | st.text(max_size=20)


@dataclass(frozen=True, slots=True)
class Source:
    """Where inputs come from: Hypothesis makes some, and each of them has cheap variants."""

    inputs: st.SearchStrategy[bytes]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]

    def variants(self, data: bytes, count: int) -> Iterator[bytes]:
        """Return damaged copies; the same input has the same ones."""
        chance = random.Random(data)
        for _ in range(count):
            pieces = chance.choice((self.tokens, self.tokens, self.seeds))
            steps = [
                (chance.choice(_CHANGES), chance.random(), chance.random(), chance.choice(pieces))
                for _ in range(chance.randint(1, 4))
            ]
            yield _apply(data if chance.random() < 0.7 else chance.choice(self.seeds), steps)


def frontmatter() -> Source:
    """Return SKILL.md files, most of them damaged."""
    seeds = [skill_md_of(case) for case in read_cases("skill_md")]
    return Source(_damaged(seeds, _TEXT_TOKENS), seeds, _TEXT_TOKENS)


def archives() -> Source:
    """Return zip archives: damaged ones, and odd entries that are packed well."""
    seeds = [archive_of(case) for case in read_cases("archives")]
    packed = st.builds(_pack, st.lists(_entries(), max_size=8))
    return Source(_damaged(seeds, _ZIP_TOKENS) | packed, seeds, _ZIP_TOKENS)


def _entries() -> st.SearchStrategy[tuple[str, bytes, dict[str, Any]]]:
    texts = st.just(skill_text("k")) | frontmatter().inputs | st.binary(max_size=200)
    # Zeros pack a thousand to one, which is what a bomb is made of.
    data = texts | st.integers(0, 1_200_000).map(bytes)
    options = st.fixed_dictionaries(
        {},
        optional={
            "mode": st.sampled_from([0o100644, 0o100755, 0o104755, 0o120777, 0o020666, 0, 0o40755]),
            "system": st.sampled_from([0, 3, 19]),
            "method": st.sampled_from([0, 8, 12, 14]),
        },
    )
    return st.tuples(_NAMES, data, options)


def _pack(entries: Sequence[tuple[str, bytes, dict[str, Any]]]) -> bytes:
    usable = []
    for name, data, options in entries:
        encoded = name.encode("utf-8", "replace")
        # zipfile itself refuses to write longer names.
        usable.append((encoded[:60_000].decode("utf-8", "replace"), data, options))
    with warnings.catch_warnings():
        # zipfile warns of two entries of one name, which is the point of some.
        warnings.simplefilter("ignore", UserWarning)
        return make_zip(*usable)


def _damaged(seeds: Sequence[bytes], tokens: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    steps = st.lists(_step(seeds, tokens), max_size=6)
    return st.builds(_apply, st.sampled_from(seeds), steps) | st.binary(max_size=400)


_Step = tuple[str, float, float, bytes]


def _step(seeds: Sequence[bytes], tokens: Sequence[bytes]) -> st.SearchStrategy[_Step]:
    """Return one change: what is done, where from and to (as parts of the whole), with what."""
    part = st.floats(0, 1)
    return st.tuples(
        st.sampled_from(_CHANGES),
        part,
        part,
        st.sampled_from(tokens) | st.binary(min_size=1, max_size=4) | st.sampled_from(seeds),
    )


def _apply(data: bytes, steps: Sequence[_Step]) -> bytes:
    for what, first, second, piece in steps:
        start, end = sorted((int(first * len(data)), int(second * len(data))))
        if what == "cut":
            data = data[:start] + data[end:]
        elif what == "insert":
            data = data[:start] + piece + data[start:]
        elif what == "overwrite":
            data = data[:start] + piece + data[start + len(piece) :]
        elif what == "repeat":
            times = min(1 + len(piece) % 50, MOST_BYTES // (end - start + 1))
            data = data[:end] + data[start:end] * times + data[end:]
        elif what == "cross":
            data = data[:start] + piece[int(second * len(piece)) :]
        else:
            data = data[start:end]
        data = data[:MOST_BYTES]
    return data
