""".Z files, written by an encoder of the tests' own that gzip, which can read them, agrees with."""

import random
import shutil
import subprocess

import pytest

from sklar.paper.data.lzw import CLEAR, decompress


class BitWriter:
    """Codes, lowest bit first, in groups of eight."""

    def __init__(self):
        self.bits, self.n_bits, self.width, self.in_group = 0, 0, 9, 0

    def write(self, code):
        self.bits |= code << self.n_bits
        self.n_bits += self.width
        self.in_group = (self.in_group + 1) % 8

    def fill_group(self):
        while self.in_group:
            self.write(0)


def compress(data, most_bits=16, clear_at=None):
    """LZW as `compress` does it; `clear_at` empties the table once, after so many codes."""
    out, strings, start, is_first = BitWriter(), {}, b"", True
    known = 257  # how many strings the reader will know

    def put(code):
        nonlocal known, is_first
        if known >= 1 << out.width and out.width < most_bits:
            out.fill_group()
            out.width += 1
        out.write(code)
        known += 0 if is_first or known == 1 << most_bits else 1
        is_first = False

    def code_of(string):
        return string[0] if len(string) == 1 else strings[string]

    n_codes = 0
    for byte in data:
        longer = start + bytes([byte])
        if len(longer) == 1 or longer in strings:
            start = longer
            continue
        put(code_of(start))
        n_codes += 1
        if 257 + len(strings) < 1 << most_bits:
            strings[longer] = 257 + len(strings)
        start = bytes([byte])
        if n_codes == clear_at:
            put(code_of(start))
            put(CLEAR)
            out.fill_group()
            strings, start, is_first, known, out.width = {}, b"", True, 257, 9
    if start:
        put(code_of(start))
    return bytes([0x1F, 0x9D, 0x80 | most_bits]) + out.bits.to_bytes(-(-out.n_bits // 8), "little")


def samples():
    rng = random.Random(0)
    return [b"", b"a", b"aba", b"a" * 3000, bytes(rng.choices(b"0123456789.,-\n", k=9000)), rng.randbytes(3000)]


@pytest.mark.parametrize("clear_at", [None, 300, 900])
@pytest.mark.parametrize("most_bits", [10, 12, 16])
@pytest.mark.parametrize("data", samples(), ids=len)
def test_what_was_packed_comes_back(data, most_bits, clear_at):
    assert decompress(compress(data, most_bits, clear_at)) == data


@pytest.mark.skipif(shutil.which("gzip") is None, reason="no gzip")
@pytest.mark.parametrize("clear_at", [None, 900])
def test_gzip_reads_the_same(clear_at):
    packed = compress(samples()[4], 12, clear_at)
    assert subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout == samples()[4]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a .Z file"),
        (b"\x1f\x8b\x08", "not a .Z file"),
        (b"\x1f\x9d\x9f", "codes of 31 bits"),
        (b"\x1f\x9d\x90\xff\xff\xff", "a code before its string"),
    ],
)
def test_damaged(content, says):
    with pytest.raises(ValueError, match=says):
        decompress(content)
