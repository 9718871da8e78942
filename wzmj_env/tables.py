"""What each suit of a hand can still become, computed once and kept on disk.

The tiles of one suit are a *key*, the number whose base-5 digits are the counts of its kinds: 5^9 keys for a suit of
nine ranks, 5^7 for the honours, which form no runs. For every key the tables answer two questions:

`closes`   with exactly w caishen (0..3) and with a pair or without, do all tiles of the suit fall into sets?
           Stored as a *code*: a small number for the set of (w, pair) that work. `JOIN` adds the codes of two suits,
           `CODE_BITS` opens a code: bit `w + 4 * pair`.
`needs`    how many tiles are missing at the least for m sets (0..5) and with a pair or without, other tiles of the
           suit being ignored? Suits with the same answers are one *class*, and pairs of suits with the same answers one
           *joint*: there are few of either, so that `whole_need` can hold the answer for any two joints.

Copies are not limited to four here: a caishen may stand for a fifth one (R3.1).
"""

from __future__ import annotations

import hashlib
import io
import math
from pathlib import Path

import numpy as np

from ._jit import cache_dir, njit, write_atomically
from ._lookup import lookup
from .tiles import NUM_HONOURS, RANKS

TABLE_VERSION = 3
MAX_SETS = 5
MAX_WILDS = 3
MAX_TILES = 3 * MAX_SETS + 2
NEED_FIELDS = 2 * (MAX_SETS + 1)
NEED_BITS = 5
NEED_MASK = np.uint64(2**NEED_BITS - 1)
_DIGEST_BYTES = 32
_NAMES = ("suit_closes", "honour_closes", "suit_classes", "honour_classes", "joint", "whole", "code_bits", "join")


@njit
def _build_needs(kinds, has_runs):
    """Tiles short per key, `(5**kinds, NEED_FIELDS) uint8`, and tiles per key. A key's lowest kind is peeled off."""
    total = 5**kinds
    needs = np.zeros((total, NEED_FIELDS), np.uint8)
    tiles = np.zeros(total, np.uint8)
    for field in range(NEED_FIELDS):
        needs[0, field] = 3 * (field // 2) + 2 * (field % 2)
    for key in range(1, total):
        power, rest, lowest = 1, key, 0
        while rest % 5 == 0:
            rest //= 5
            power *= 5
            lowest += 1
        count = rest % 5
        tiles[key] = tiles[key - power] + 1
        second = lowest + 1 < kinds and (rest // 5) % 5 > 0
        third = lowest + 2 < kinds and (rest // 25) % 5 > 0
        for field in range(NEED_FIELDS):
            needs[key, field] = needs[key - power, field]  # one copy left unused
        for used in range(1, min(count, 3) + 1):
            left = key - used * power
            for field in range(2, NEED_FIELDS):  # a triplet
                needs[key, field] = min(needs[key, field], needs[left, field - 2] + 3 - used)
            if used < 3:
                for field in range(1, NEED_FIELDS, 2):  # the pair
                    needs[key, field] = min(needs[key, field], needs[left, field - 1] + 2 - used)
        if has_runs and (second or third):  # alone, a tile is no nearer to a run than to a triplet
            left = key - power - (5 * power if second else 0) - (25 * power if third else 0)
            missing = 0 if second and third else 1
            for field in range(2, NEED_FIELDS):
                needs[key, field] = min(needs[key, field], needs[left, field - 2] + missing)
            if second and third:
                # either one alone as well: the other may be worth more elsewhere
                for left_over in (5 * power, 25 * power):
                    for field in range(2, NEED_FIELDS):
                        needs[key, field] = min(needs[key, field], needs[left + left_over, field - 2] + 1)
    return needs, tiles


@njit
def _need(needs, sets, pair):
    """One field of a word of needs."""
    return np.int64((needs >> np.uint64(NEED_BITS * (2 * sets + pair))) & NEED_MASK)


@njit
def _add_needs(a, b):
    """The needs of two suits, or groups of suits, together."""
    total = np.uint64(0)
    for sets in range(MAX_SETS + 1):
        without, with_pair = MAX_TILES, MAX_TILES
        for part in range(sets + 1):
            without = min(without, _need(a, part, 0) + _need(b, sets - part, 0))
            with_pair = min(with_pair, _need(a, part, 0) + _need(b, sets - part, 1))
            with_pair = min(with_pair, _need(a, part, 1) + _need(b, sets - part, 0))
        total |= np.uint64(without) << np.uint64(NEED_BITS * 2 * sets)
        total |= np.uint64(with_pair) << np.uint64(NEED_BITS * (2 * sets + 1))
    return total


@njit
def _joint_words(class_needs):
    """The needs of every two classes together, `(C * C,) uint64`."""
    words = np.zeros(len(class_needs) ** 2, np.uint64)
    for a in range(len(class_needs)):
        for b in range(len(class_needs)):
            words[a * len(class_needs) + b] = _add_needs(class_needs[a], class_needs[b])
    return words


@njit
def _whole_needs(words):
    """Tiles missing for so many sets and one pair in two groups of suits, `(J * J * (MAX_SETS + 1),) uint8`."""
    count = len(words)
    whole = np.zeros(count * count * (MAX_SETS + 1), np.uint8)
    for a in range(count):
        for b in range(count):
            for sets in range(MAX_SETS + 1):
                best = MAX_TILES
                for part in range(sets + 1):
                    best = min(best, _need(words[a], part, 0) + _need(words[b], sets - part, 1))
                    best = min(best, _need(words[a], part, 1) + _need(words[b], sets - part, 0))
                whole[(a * count + b) * (MAX_SETS + 1) + sets] = best
    return whole


@njit
def _closing_bits(needs, tiles):
    """Bit `w + 4 * pair` of a key: exactly w caishen complete it. Then m sets follow from the number of tiles."""
    bits = np.zeros(len(tiles), np.uint8)
    for key in range(len(tiles)):
        for pair in range(2):
            for wilds in range(MAX_WILDS + 1):
                in_sets = tiles[key] + wilds - 2 * pair
                if in_sets >= 0 and in_sets % 3 == 0 and in_sets // 3 <= MAX_SETS:
                    if needs[key, 2 * (in_sets // 3) + pair] == wilds:
                        bits[key] |= 1 << (wilds + 4 * pair)
    return bits


@njit
def _pack(needs):
    """The twelve needs of each key in one word."""
    packed = np.zeros(len(needs), np.uint64)
    for key in range(len(needs)):
        for field in range(NEED_FIELDS):
            packed[key] |= np.uint64(needs[key, field]) << np.uint64(NEED_BITS * field)
    return packed


def _join_bits(a: int, b: int) -> int:
    """The closing bits of two suits together: wilds add up to at most MAX_WILDS, and there is one pair."""
    joined = 0
    for x in range(8):
        for y in range(8):
            wilds, pairs = x % 4 + y % 4, x // 4 + y // 4
            if a >> x & 1 and b >> y & 1 and wilds <= MAX_WILDS and pairs <= 1:
                joined |= 1 << (wilds + 4 * pairs)
    return joined


def _close_under_join(bits: set[int]) -> list[int]:
    """All sets of closing bits that joining up to four suits can produce; 0, the dead hand, comes first."""
    known = set(bits) | {0}
    for _ in range(2):  # two suits, then two pairs of suits
        known |= {_join_bits(a, b) for a in known for b in known}
    return sorted(known)


def build() -> dict[str, np.ndarray]:
    """The tables by name, from nothing. Takes about a second once compiled."""
    tables: dict[str, np.ndarray] = {}
    closing, packed = {}, {}
    for name, kinds, has_runs in (("suit", RANKS, True), ("honour", NUM_HONOURS, False)):
        needs, tiles = _build_needs(kinds, has_runs)
        impossible = tiles > MAX_TILES
        closing[name] = np.where(impossible, 0, _closing_bits(needs, tiles)).astype(np.uint8)
        packed[name] = np.where(impossible, np.uint64(2**60 - 1), _pack(needs))
    codes = _close_under_join({int(b) for name in closing for b in np.unique(closing[name])})
    width = 1 << (len(codes) - 1).bit_length()
    code_of = np.zeros(256, np.uint8)
    code_of[codes] = np.arange(len(codes))
    join = np.zeros((width, width), np.uint8)
    for i, a in enumerate(codes):
        for j, b in enumerate(codes):
            bits = _join_bits(a, b)
            join[i, j] = code_of[bits] if bits in codes else 0
    class_needs = np.unique(np.concatenate(list(packed.values())))
    assert len(class_needs) <= 256
    for name in closing:
        tables[f"{name}_closes"] = code_of[closing[name]]
        tables[f"{name}_classes"] = np.searchsorted(class_needs, packed[name]).astype(np.uint8)
    words, joint = np.unique(_joint_words(class_needs), return_inverse=True)
    assert len(words) <= 2**16
    tables["joint"], tables["whole"] = joint.astype(np.uint16), _whole_needs(words)
    tables["code_bits"] = np.array(codes + [0] * (width - len(codes)), np.uint8)
    tables["join"] = join.ravel()
    return tables


def _to_bytes(tables: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{name: tables[name] for name in _NAMES})  # type: ignore[arg-type]
    body = buffer.getvalue()
    return hashlib.sha256(body).digest() + body


def _from_bytes(data: bytes) -> dict[str, np.ndarray] | None:
    """The tables, or None when a single byte is not what was written."""
    digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        return None
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        return {name: archive[name] for name in _NAMES} if set(archive.files) == set(_NAMES) else None


def load(folder: Path | None) -> dict[str, np.ndarray]:
    """The tables from `folder`; built, and kept there if it can be written, when missing, old or damaged."""
    path = folder / f"tables-v{TABLE_VERSION}.bin" if folder else None
    if path:
        try:
            tables = _from_bytes(path.read_bytes())
        except OSError:
            tables = None
        if tables:
            return tables
    tables = build()
    if path:
        try:
            write_atomically(path, _to_bytes(tables))
        except OSError:
            pass  # a read-only place: the tables are built anew by each process
    return tables


_tables = load(cache_dir())
JOIN_WIDTH = len(_tables["code_bits"])
CLASSES = math.isqrt(len(_tables["joint"]))
JOINTS = math.isqrt(len(_tables["whole"]) // (MAX_SETS + 1))

suit_code = lookup("suit_closes", _tables["suit_closes"])
honour_code = lookup("honour_closes", _tables["honour_closes"])
suit_class = lookup("suit_classes", _tables["suit_classes"])
honour_class = lookup("honour_classes", _tables["honour_classes"])
_joint = lookup("joint", _tables["joint"])
_whole = lookup("whole", _tables["whole"])
code_bits = lookup("code_bits", _tables["code_bits"])
_join = lookup("join", _tables["join"])


@njit
def join(a, b):
    """The code of two suits, or groups of suits, together."""
    return _join(np.int64(a) * JOIN_WIDTH + np.int64(b))


@njit
def joint(a, b):
    """The joint of two suits, from their classes."""
    return _joint(np.int64(a) * CLASSES + np.int64(b))


@njit
def whole_need(a, b, sets):
    """Tiles missing for so many sets and one pair, from the joints of two suits and of the other two."""
    return np.int64(_whole((np.int64(a) * JOINTS + np.int64(b)) * (MAX_SETS + 1) + sets))
