"""Imagined worlds: in each the seat sees what it saw and may do what it might, and the tiles are all there."""

import numpy as np
import pytest

from wzmj_env import Rules, VectorEnv, engine
from wzmj_env._jit import njit
from wzmj_env.hand import count
from wzmj_env.imagine import adds_up, deal_hidden, read_view
from wzmj_env.observe import OBSERVATION_SIZE, write_legal, write_observation
from wzmj_env.players import POLICIES, choose
from wzmj_env.state import CLAIM, DISCARD_ONLY, PHASES, ROB, STAKES_ASKED, TURN, new_states

RULES = [
    Rules(), Rules(num_players=3, dead_wall=1), Rules(num_players=2), Rules(wind_first=False, stakes=False),
    Rules(white_is_wind=False, passed_peng=False, dead_wall=60),
]  # fmt: skip
N = 512


@njit
def _imagine(observations, masks, word, worlds, seen, legal):
    """Fill `worlds` from observations, and what seat 0 sees and may do in them; whether all added up."""
    added_up = True
    for i in range(len(masks)):
        read_view(observations[i], masks[i], worlds[i])
        if not adds_up(worlds[i]):
            return False
        added_up &= deal_hidden(worlds[i], engine.mix(word + np.uint64(i)))
        write_observation(worlds[i], 0, seen[i])
        write_legal(worlds[i], legal[i])
    return added_up


@njit
def _renewed(s):
    """Whether `legal` is what the rules give for the state; of claims it comes from the seat's claims alone."""
    low, high = s.legal[0], s.legal[1]
    if s.phase == TURN:
        engine.ask_turn(s, 0)
    elif s.phase == DISCARD_ONLY:
        engine.ask_discard(s, 0)
    elif s.phase == CLAIM:
        return s.claims[0] == engine.claims_on_discard(s, 0, np.int64(s.tile)) and s.claims[0] != 0
    elif s.phase == ROB:
        return s.claims[0] == engine.HU_CLAIM and engine.can_win_on(s, 0, s.tile)
    return s.legal[0] == low and s.legal[1] == high


@njit
def _legal_by_rule(worlds):
    for i in range(len(worlds)):
        if not _renewed(worlds[i]):
            return i
    return -1


@njit
def _choose(states, policy, actions):
    for i in range(len(states)):
        actions[i] = choose(states[i], policy)


@njit
def _play_on(worlds, policy):
    for i in range(len(worlds)):
        while worlds[i].player >= 0:
            engine.step(worlds[i], choose(worlds[i], policy))


@njit
def _count(s, q, k):
    return count(s.held[q], k)


def tiles_in(s):
    """All tiles of a hand under way: wall to come, hands, melds and discards that lie."""
    counts = np.bincount(s.wall[s.front : s.back + 1], minlength=34)
    counts[s.caishen] += 1
    for q in range(s.num_players):
        counts += [count(s.held[q], k) for k in range(34)]
        for what, kind in zip(s.meld_what[q, : s.melds[q]], s.meld_kind[q, : s.melds[q]], strict=True):
            if what == 0:
                for k in range(kind, kind + 3):
                    counts[31 if k == s.caishen else k] += 1
            else:
                counts[kind] += 3 if what == 1 else 4
    lying = s.discards[: s.num_discards][s.fates[: s.num_discards] == 0] % 64
    return counts + np.bincount(lying, minlength=34)


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("policy", ["random", "rule"])
def test_an_imagined_world_shows_the_seat_what_it_saw(rules, policy):
    env = VectorEnv(N, rules, seed=4, carry=True)
    worlds = new_states(N, rules)
    seen, legal = np.zeros((N, OBSERVATION_SIZE), np.uint8), np.zeros((N, 76), np.int8)
    actions = np.zeros(N, np.int64)
    phases = np.zeros(len(PHASES), np.int64)
    for step in range(150):
        observations = env.observation.reshape(N, OBSERVATION_SIZE)
        assert _imagine(observations, env.action_mask, np.uint64(step), worlds, seen, legal)
        assert np.array_equal(seen, observations)
        assert np.array_equal(legal, env.action_mask)
        assert _legal_by_rule(worlds) == -1
        assert (worlds.player == 0).all()
        for world in worlds[step % 50 :: 50]:
            if world.phase != STAKES_ASKED:
                assert tiles_in(world).tolist() == [4] * 34
        phases += np.bincount(env.states.phase, minlength=len(PHASES))
        if step % 40 == 0:
            _play_on(worlds, POLICIES["rule"])
            assert (worlds.payments.sum(1) == 0).all()
            worlds = new_states(N, rules)
        _choose(env.states, POLICIES[policy], actions)
        env.step(actions)
    needed = [phase for phase in (STAKES_ASKED, TURN, DISCARD_ONLY, CLAIM) if phase != STAKES_ASKED or rules.stakes]
    assert phases[needed].all()
    assert phases[ROB] or policy == "rule" or rules.num_players == 4


def test_hidden_tiles_differ_from_world_to_world_and_those_seen_do_not_matter_else():
    env, worlds = VectorEnv(N, Rules(stakes=False), seed=1), new_states(N, Rules())
    for _ in range(100):
        env.step(env.sample_actions())
    one = np.repeat(env.observation.reshape(N, -1)[:1], N, axis=0)
    mask = np.repeat(env.action_mask[:1], N, axis=0)
    _imagine(one, mask, np.uint64(7), worlds, np.zeros_like(one), np.zeros_like(mask))
    hands = {world.held[1:].tobytes() for world in worlds}
    assert len(hands) > 0.99 * N
    again = new_states(N, Rules())
    _imagine(one, mask, np.uint64(7), again, np.zeros_like(one), np.zeros_like(mask))
    assert np.array_equal(worlds, again)


def test_nobody_is_left_with_a_wind_he_had_to_discard():  # R5.1
    """After a discard of no wind the discarder has no lone wind, in the game and so in every world of the next seat."""
    rules = Rules(stakes=False)
    env, worlds = VectorEnv(N, rules, seed=2), new_states(N, rules)
    seen, legal, checked = np.zeros((N, OBSERVATION_SIZE), np.uint8), np.zeros((N, 76), np.int8), 0
    actions = np.zeros(N, np.int64)
    for step in range(60):
        _imagine(env.observation.reshape(N, -1), env.action_mask, np.uint64(step), worlds, seen, legal)
        for world in worlds[::8]:
            last = world.discards[max(int(world.num_discards) - 1, 0)]
            if world.phase == CLAIM and last % 64 < 27:
                held = world.held[last // 64]
                assert held[0] & ~held[1] & world.winds == 0
                checked += 1
        _choose(env.states, POLICIES["rule"], actions)
        env.step(actions)
    assert checked > 100


def test_an_observation_that_does_not_add_up_is_told():
    rules = Rules(stakes=False)
    env = VectorEnv(4, rules, seed=2)
    observations = env.observation.reshape(4, -1).copy()
    observations[:, np.flatnonzero(observations[0, :34])[0]] = 0  # a tile of the hand gone
    assert not _imagine(observations, env.action_mask, np.uint64(0), new_states(4, rules), np.zeros_like(observations),
                        np.zeros_like(env.action_mask))  # fmt: skip
