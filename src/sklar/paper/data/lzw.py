"""Unpack .Z files, the format of Unix `compress`, in which ISOLET's public home keeps it.

LZW with codes that grow from 9 bits: every code but the first adds "the string before, and the first byte of this one"
to the table. Codes are written in groups of eight; where the width changes, the rest of a group is padding.
"""

from __future__ import annotations

MAGIC = b"\x1f\x9d"
CLEAR = 256
FIRST_WIDTH = 9


def decompress(content: bytes) -> bytes:
    """What a .Z file holds.

    Examples
    --------
    >>> decompress(bytes([0x1F, 0x9D, 0x90, 0x61, 0xC4, 0x84, 0x01]))
    b'aba'
    """
    if content[:2] != MAGIC or len(content) < 3:
        raise ValueError("not a .Z file: it does not begin with 1f 9d")
    most_bits, can_clear = content[2] & 0x1F, bool(content[2] & 0x80)
    if not FIRST_WIDTH <= most_bits <= 16:
        raise ValueError(f"a .Z file with codes of {most_bits} bits")
    start = [bytes([value]) for value in range(256)] + ([b""] if can_clear else [])
    body, table, width = content[3:], list(start), FIRST_WIDTH
    at = group = 0  # in bits: where we are, and where codes of this width began
    before: bytes | None = None
    found: list[bytes] = []
    while True:
        if len(table) >= 1 << width and width < most_bits:
            at = group = _group_end(at, group, width)
            width += 1
        if at + width > 8 * len(body):
            return b"".join(found)
        code = int.from_bytes(body[at // 8 : at // 8 + 4], "little") >> (at % 8) & ((1 << width) - 1)
        at += width
        if code == CLEAR and can_clear:
            at = group = _group_end(at, group, width)
            table, width, before = list(start), FIRST_WIDTH, None
            continue
        if code < len(table):
            string = table[code]
        elif before is not None and code == len(table):
            string = before + before[:1]
        else:
            raise ValueError("a damaged .Z file: a code before its string")
        found.append(string)
        if before is not None and len(table) < 1 << most_bits:
            table.append(before + string[:1])
        before = string


def _group_end(at: int, group: int, width: int) -> int:
    """The end, in bits, of the group of eight codes that `at` is in."""
    return group + -(-(at - group) // (8 * width)) * 8 * width
