"""What a seat sees is a function of what it may know: everything else is exchanged, and nothing it sees changes."""

import random

import numpy as np
import pytest

from wzmj_env import Rules, VectorEnv, engine, observe
from wzmj_env import tiles as tiles_module
from wzmj_env._jit import njit
from wzmj_env.actions import HU, PASS
from wzmj_env.hand import bit, count
from wzmj_env.state import CLAIM, NOTHING, OVER, PHASES, ROB, STAKES_ASKED

RULES = [
    Rules(), Rules(num_players=2), Rules(num_players=3, dead_wall=40), Rules(wind_first=False, stakes=False),
    Rules(white_is_wind=False, passed_peng=False),
]  # fmt: skip


@njit
def _rebuild(states, p, counts):
    """Give seat p other concealed tiles and renew all that follows from them."""
    s = states[0]
    s.held[p, 0] = s.held[p, 1] = s.held[p, 2] = s.held[p, 3] = np.uint64(0)
    for i in range(4):
        s.keys[p, i] = 0
    for k in range(34):
        for _ in range(counts[k]):
            engine.add_tile(s.held[p], s.keys[p], k, s.caishen)
    engine.refresh(s, p)


@njit
def _own_claims(states, p):
    s = states[0]
    if s.phase == ROB:
        return engine.HU_CLAIM if engine.can_win_on(s, p, s.tile) else 0
    return engine.claims_on_discard(s, p, s.tile)


@njit
def _observe(states, p, out):
    observe.write_observation(states[0], p, out)


@njit
def _count(states, p, out):
    observe.write_counts(states[0], p, out)


@njit
def _mask(states, p, out):
    observe.write_mask(states[0], p, out)


def view(states, p):
    observation, mask = np.empty(observe.OBSERVATION_SIZE, np.uint8), np.empty(76, np.int8)
    counts = np.empty(observe.COUNTS_SIZE, np.uint8)
    _observe(states, p, observation)
    _count(states, p, counts)
    _mask(states, p, mask)
    return np.concatenate([observation, counts]), mask


def exchange_hidden(states, p, rng):
    """A state that seat p cannot tell from this one: hidden tiles dealt anew, others' answers and questions too."""
    other = states.copy()
    s = other[0]
    n = int(s.num_players)
    others = [q for q in range(n) if q != p]
    if s.phase == STAKES_ASKED:
        s.wall[:] = rng.sample(s.wall.tolist(), 136)
        return other
    front, back = int(s.front), int(s.back)
    hands = {q: [k for k in range(34) for _ in range(count(s.held[q], k))] for q in others}
    pool = [k for q in others for k in hands[q]] + s.wall[front : back + 1].tolist()
    rng.shuffle(pool)
    for q in others:
        mine, pool = pool[: len(hands[q])], pool[len(hands[q]) :]
        counts = np.bincount(mine, minlength=34) if mine else np.zeros(34, np.int64)
        _rebuild(other, q, counts)
        s.barred[q] = rng.getrandbits(34)
    s.wall[front : back + 1] = pool
    s.wall[:front] = 0  # how the tiles came is hidden as well
    s.policy = s.stream = rng.getrandbits(63)
    if s.phase in (CLAIM, ROB):
        s.keeps_caishen = s.keeps_caishen if s.player == p else rng.getrandbits(1)
        for q in others:
            if q != s.source:
                s.claims[q] = rng.getrandbits(6)
                s.answers[q] = rng.choice((PASS, HU, 68, 71, 72))
        if s.player != p and p != s.source:
            asked_others = [q for q in others if q != s.source]
            s.player = rng.choice(asked_others) if asked_others else s.player
    if s.player != p:
        s.legal[:] = [rng.getrandbits(64), rng.getrandbits(12)]
        s.drawn = NOTHING if s.drawn == NOTHING else rng.randrange(34)
    return other


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
def test_a_seat_cannot_tell_what_is_hidden_from_it(rules):
    rng = random.Random(1)
    env = VectorEnv(24, rules, seed=11)
    phases = dict.fromkeys(range(len(PHASES)), 0)
    compared = changed = 0
    for _ in range(250):
        env.step(env.sample_actions())
        for i in range(env.num_envs):
            states = env.states[i : i + 1]
            for p in range(rules.num_players):
                other = exchange_hidden(states, p, rng)
                (left, mask), (right, other_mask) = view(states, p), view(other, p)
                assert np.array_equal(left, right), (PHASES[int(states.phase[0])], p)
                assert np.array_equal(mask, other_mask)
                if states.player[0] != p:
                    assert not mask.any()
                elif states.phase[0] in (CLAIM, ROB):
                    assert _own_claims(other, p) == states.claims[0, p]
                compared += 1
                changed += not np.array_equal(states.held[0], other.held[0])
            phases[int(states.phase[0])] += 1
    assert changed > compared / 2
    assert all(phases[x] for x in range(OVER) if x != STAKES_ASKED or rules.stakes if x != ROB)


def test_no_tile_is_seen_while_stakes_are_asked():  # R8.6
    env = VectorEnv(8, seed=1)
    for i in range(8):
        observation = env.observation[i]
        assert not observation[: observe.PLANE["TABLE"]].any()
        assert env.states.phase[i] == STAKES_ASKED


def test_observation_determines_the_public_facts():
    """Discards with seat and order, melds and whose tile they took, draws, stakes: read back from the planes."""
    env = VectorEnv(16, seed=3)
    plane, column = observe.PLANE, observe.SEAT_COLUMN
    for _ in range(600):
        env.step(env.sample_actions())
    for i in range(16):
        s, seen = env.states[i], env.observation[i].astype(int)
        n, me = int(s.num_players), int(s.player)
        if s.phase == STAKES_ASKED:
            continue
        discards = {}
        for c in range(4):
            for k in range(34):
                if order := seen[plane["DISCARD_ORDER"] + c, k]:
                    seat = (seen[plane["DISCARD_SEAT"] + c, k] - 1 + me) % n
                    discards[order] = (k + 64 * seat, seen[plane["DISCARD_FATE"] + c, k])
        assert sorted(discards) == list(range(1, int(s.num_discards) + 1))
        assert [discards[j + 1][0] for j in range(len(discards))] == s.discards[: s.num_discards].tolist()
        assert [discards[j + 1][1] for j in range(len(discards))] == s.fates[: s.num_discards].tolist()
        for r in range(n):
            q = (me + r) % n
            facts = seen[plane["SEAT"] + r]
            assert facts[column["DRAWS"]] == s.draws[q]
            assert facts[column["TOPPED"]] == s.topped[q]
            assert facts[column["DEALER"]] == (s.dealer == q)
            for what, name in enumerate(("CHI", "PENG", "GANG", "ADDED", "CONCEALED")):
                mine = [int(s.meld_kind[q, j]) for j in range(s.melds[q]) if s.meld_what[q, j] == what]
                assert seen[plane[name] + r].tolist() == np.bincount(mine, minlength=34).tolist()


def counts_from_planes(planes):
    """The compact form from the planes, by plain sums."""
    plane, counts = observe.PLANE, observe.COUNT_PLANE
    planes = planes.astype(int)
    out = np.zeros(observe.COUNTS_SHAPE, int)
    for name in ("CAISHEN", "QUESTION", "DRAWN", "SHOWN_WINDS", "LONE_WINDS", "BARRED", "TABLE"):
        out[counts[name]] = planes[plane[name]]
    out[counts["SEAT"] : counts["SEAT"] + 4] = planes[plane["SEAT"] : plane["SEAT"] + 4]
    out[counts["HAND"]] = planes[plane["HAND"] : plane["HAND"] + 4].sum(axis=0)
    caishen = planes[plane["CAISHEN"]]
    for r in range(4):
        melded = out[counts["MELDED"] + r]
        for name, tiles in (("PENG", 3), ("GANG", 4), ("ADDED", 4), ("CONCEALED", 4)):
            melded += tiles * planes[plane[name] + r]
        for step in range(3):
            melded[step:] += planes[plane["CHI"] + r][: 34 - step]
        faces = int((melded * caishen).sum())
        melded[caishen == 1] = 0  # whites stand there
        melded[tiles_module.WHITE] += faces
    for c in range(4):
        lies = (planes[plane["DISCARD_SEAT"] + c] > 0) & (planes[plane["DISCARD_FATE"] + c] == 0)
        for k in np.flatnonzero(lies):
            out[counts["LYING"] + planes[plane["DISCARD_SEAT"] + c, k] - 1, k] += 1
    seen = out[counts["HAND"]] + caishen + out[counts["MELDED"] : counts["UNSEEN"]].sum(axis=0)
    out[counts["UNSEEN"]] = 4 - seen
    return out


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_compact_form_counts_what_the_planes_show(players):
    rules = Rules(num_players=players)
    planes, counts = VectorEnv(48, rules, seed=3), VectorEnv(48, rules, seed=3, observe="counts")
    assert counts.observation.shape == (48, *observe.COUNTS_SHAPE)
    faces = 0
    for _ in range(250):
        planes.step(planes.sample_actions())
        counts.step(counts.sample_actions())
        for i in range(48):
            want = counts_from_planes(planes.observation[i])
            assert np.array_equal(counts.observation[i], want)
            faces += want[observe.COUNT_PLANE["MELDED"], tiles_module.WHITE] % 3 != 0
    assert faces  # a white stood for the face in a chi


def test_open_state_shows_all_hands_and_answers_but_no_wall():
    rng = random.Random(2)
    env = VectorEnv(32, seed=6, state=True)
    answered = 0
    for _ in range(400):
        env.step(env.sample_actions())
        for i in range(32):
            s, out = env.states[i], env.state[i]
            n, me = int(s.num_players), int(s.player)
            assert np.array_equal(out[: observe.NUM_PLANES], env.observation[i])
            for r in range(1, n):
                q = (me + r) % n
                want = [count(s.held[q], k) for k in range(34)] if s.phase != STAKES_ASKED else [0] * 34
                assert out[observe.PLANE["OTHER_HAND"] + r - 1].tolist() == want
                barred = [int(s.barred[q] & bit(k) != 0) for k in range(34)]
                assert out[observe.PLANE["OTHER_BARRED"] + r - 1].tolist() == barred
            answers = out[observe.PLANE["ANSWERS"]]
            answered += bool(answers.any())
            before = out.copy()
            other = env.states[i : i + 1].copy()
            if s.phase != STAKES_ASKED:
                front, back = int(s.front), int(s.back)
                other[0].wall[front : back + 1] = rng.sample(other[0].wall[front : back + 1].tolist(), back + 1 - front)
            _open(other, out)
            assert np.array_equal(before, out)
    assert answered


@njit
def _open(states, out):
    observe.write_state(states[0], out.ravel())


def test_every_plane_is_used_and_small():
    assert observe.NUM_PLANES < 64
    env = VectorEnv(256, seed=3)
    used = np.zeros(observe.NUM_PLANES, bool)
    for _ in range(700):
        env.step(env.sample_actions())
        used |= env.observation.any(axis=(0, 2))
    assert used.all(), [name for name, first in observe.PLANE.items() if first < len(used) and not used[first]]
