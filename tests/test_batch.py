"""VectorEnv: invariance, seeds, rewards, buffers, refusals."""

import copy
import pickle

import numpy as np
import pytest

from wzmj_env import Game, IllegalActionError, Match, Rules, VectorEnv
from wzmj_env import batch as batch_module

STEPS = 400
NO_STAKES = Rules(stakes=False)


def play(env, steps=STEPS):
    """What each game showed at each step, `{name: (steps, N, …)}`."""
    seen = {name: [] for name in ("observation", "action_mask", "current_player", "rewards", "terminated")}
    for _ in range(steps):
        env.step(env.sample_actions())
        for name, rows in seen.items():
            rows.append(getattr(env, name).copy())
    return {name: np.array(rows) for name, rows in seen.items()}


@pytest.mark.parametrize("options", [{}, {"carry": True}, {"skip_forced": True}, {"carry": True, "skip_forced": True}])
def test_game_i_is_the_same_at_any_batch_size_and_number_of_threads(options):
    alone = play(VectorEnv(1, seed=9, **options), 200)
    for size, threads in ((64, 1), (64, 2), (1024, 2), (1024, 3)):
        many = play(VectorEnv(size, seed=9, num_threads=threads, **options), 200)
        if size == 64 and threads == 1:
            first = many
        for name, rows in many.items():
            assert np.array_equal(rows[:, :1], alone[name]), (name, size, threads)
            assert np.array_equal(rows[:, :64], first[name]), (name, size, threads)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_step_agrees_with_a_game_of_the_same_seed(players):
    rules = Rules(num_players=players)
    env, game = VectorEnv(1, rules, seed=12), Game(rules, seed=12)
    while not game.done:
        assert env.current_player[0] == game.current_player
        assert np.array_equal(env.action_mask[0], game.action_mask())
        assert np.array_equal(env.observation[0], game.observe(game.current_player))
        action = int(env.sample_actions()[0])
        game.step(action)
        env.step(np.array([action]))
    assert env.terminated[0]
    assert np.array_equal(env.rewards[0], game.result.payments.astype(np.float32))
    last = env.final_result(0)
    assert np.array_equal(last.payments, game.result.payments)
    assert (last.winner, last.patterns, last.next_dealer) == (
        game.result.winner, game.result.patterns, game.result.next_dealer)  # fmt: skip
    for seat in range(players):
        assert np.array_equal(env.final_observation(0, seat), game.observe(seat))


def test_carried_hands_are_those_of_a_match():
    env, match = VectorEnv(1, seed=3, carry=True), Match(hands=6, seed=3)
    total = np.zeros(4)
    while not match.done:
        assert env.current_player[0] == match.current_player
        assert np.array_equal(env.observation[0], match.observe(match.current_player))
        action = int(env.sample_actions()[0])
        match.step(action)
        env.step([action])
        total += env.rewards[0]
    assert np.array_equal(total, match.scores)
    assert len(match.results) == 6


def test_hands_differ_between_seeds_games_and_hands():
    walls = set()
    for seed in range(5):
        env = VectorEnv(8, seed=seed)
        for _ in range(5):
            walls |= {wall.tobytes() for wall in env.states.wall}
            env.reset()
    assert len(walls) == 5 * 8 * 5


def test_kinds_are_dealt_evenly():
    env = VectorEnv(3400, seed=0)
    places = np.array(env.states.wall)
    for place in (0, 1, 64, 134, 135):
        counts = np.bincount(places[:, place], minlength=34)
        assert abs(counts - 100).max() < 45  # 4.5 standard deviations
    dealers = np.bincount(env.states.dealer, minlength=4)
    assert abs(dealers - 850).max() < 115


def test_reset_with_the_seed_starts_over():
    env = VectorEnv(4, seed=7)
    first = play(env, 50)
    env.reset(seed=7)
    again = play(env, 50)
    assert all(np.array_equal(first[name], again[name]) for name in first)


def test_sampled_actions_are_legal_and_move_no_wall():
    env, other = VectorEnv(16, seed=2), VectorEnv(16, seed=2)
    for _ in range(200):
        for _ in range(3):
            actions = env.sample_actions()
            assert env.action_mask[np.arange(16), actions].all()
        other.step(actions)
        env.step(actions)
    assert np.array_equal(env.states.wall, other.states.wall)
    assert np.array_equal(env.observation, other.observation)


def test_rewards_sum_to_zero_and_equal_the_final_payments():
    env = VectorEnv(32, Rules(unit=20), seed=4)
    settled = 0
    for _ in range(1500):
        env.step(env.sample_actions())
        assert not env.rewards[~env.terminated].any()
        for i in np.flatnonzero(env.terminated):
            assert np.array_equal(env.rewards[i] * 20, env.final_result(i).payments)
            assert env.rewards[i].sum() == 0
            settled += 1
    assert settled > 200


def test_skipped_decisions_are_the_forced_ones():
    plain, skipping = VectorEnv(1, NO_STAKES, seed=8), VectorEnv(1, NO_STAKES, seed=8, skip_forced=True)
    forced = 0
    for _ in range(3000):
        while plain.action_mask[0].sum() == 1:
            plain.step(np.flatnonzero(plain.action_mask[0]))
            forced += 1
        assert skipping.action_mask[0].sum() > 1
        assert np.array_equal(plain.observation, skipping.observation)
        action = skipping.sample_actions().copy()
        plain.step(action)
        skipping.step(action)
    assert forced > 100


def test_rollout_plays_as_steps_do():
    rolled, stepped = VectorEnv(8, seed=5, num_threads=2), VectorEnv(8, seed=5)
    report = rolled.rollout(700)
    hands = values = 0
    for _ in range(700):
        stepped.step(stepped.sample_actions())
        hands += stepped.terminated.sum()
        values += stepped.final_states.value[stepped.terminated].sum()
    assert report.decisions == 8 * 700
    assert report.hands == hands
    assert sum(value * n for value, n in report.by_value.items()) == values
    assert sum(report.by_value.values()) == hands
    for name in ("observation", "action_mask", "current_player", "rewards", "terminated"):
        assert np.array_equal(getattr(rolled, name), getattr(stepped, name)), name


def test_going_on_from_a_state_dict_is_exact():
    env = VectorEnv(8, seed=1, state=True)
    play(env, 123)
    other = VectorEnv(8, seed=99, state=True)
    other.load_state_dict(pickle.loads(pickle.dumps(env.state_dict())))
    assert np.array_equal(env.observation, other.observation)
    assert np.array_equal(env.state, other.state)
    left, right = play(env, 300), play(other, 300)
    assert all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("damage", ["byte", "short", "rules", "size"])
def test_a_state_dict_that_does_not_fit_is_refused(damage):
    env = VectorEnv(2, seed=1)
    kept = copy.deepcopy(env.state_dict())
    other = env
    if damage == "byte":
        kept["states"][100] ^= 1
    elif damage == "short":
        kept["states"] = kept["states"][:-1]
    elif damage == "rules":
        other = VectorEnv(2, NO_STAKES)
    else:
        other = VectorEnv(3)
    before = other.states.tobytes()
    with pytest.raises(ValueError, match="this state"):
        other.load_state_dict(kept)
    assert other.states.tobytes() == before


@pytest.mark.parametrize(
    "bad", [-1, 76, 2**31, 2**62, -(2**63), 0.0, float("nan"), "3", None, True, [0, 0, 0, 0], np.uint64(2**64 - 1)]
)
def test_illegal_actions_are_refused_and_no_game_moves(bad):
    env = VectorEnv(3, seed=1)
    actions = env.sample_actions().tolist()
    given = np.array([*actions[:2], bad], dtype=object if bad is None else None) if not isinstance(bad, list) else bad
    if isinstance(bad, np.uint64):
        given = np.array([*actions[:2], bad], np.uint64)
    if bad is True:
        given = np.array([True, True, True])
    before = env.states.tobytes(), env.action_mask.tobytes()
    with pytest.raises(IllegalActionError):
        env.step(given)
    assert (env.states.tobytes(), env.action_mask.tobytes()) == before


def test_the_first_illegal_game_is_named():
    env = VectorEnv(5, seed=1)
    actions = env.sample_actions().copy()
    actions[[2, 4]] = 75 if env.action_mask[2, 75] == 0 else 0
    with pytest.raises(IllegalActionError, match=r"game 2 .*No game has moved"):
        env.step(actions)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint16])
def test_any_integer_array_is_taken(dtype):
    env = VectorEnv(4, seed=1)
    env.step(env.sample_actions().astype(dtype))


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_envs": 0}, {"num_envs": 2.0}, {"num_envs": True}, {"seed": -1}, {"seed": 2**64}, {"seed": "1"},
        {"num_threads": 0}, {"rules": {"num_players": 4}}, {"games": [1]}, {"games": [-1, 2]}, {"games": [0.5, 1.0]},
        {"observe": "planes"}, {"observe": 1}, {"observe": None}, {"dtype": np.float64}, {"dtype": "uint"}, {"dtype": []},
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        VectorEnv(**{"num_envs": 2, **arguments})


def test_equal_game_numbers_have_equal_deals():
    env = VectorEnv(4, seed=1, games=[5, 5, 7, 5])
    assert np.array_equal(env.states.wall[0], env.states.wall[1])
    assert not np.array_equal(env.states.wall[0], env.states.wall[2])
    assert np.array_equal(env.states.wall[0], VectorEnv(6, seed=1).states.wall[5])


def test_seeds_of_any_size():
    assert VectorEnv(1, seed=2**64 - 1).seed == 2**64 - 1
    entropy = VectorEnv(1, seed=None)
    assert np.array_equal(VectorEnv(1, seed=entropy.seed).states.wall, entropy.states.wall)


@pytest.mark.parametrize("observe", [True, "counts"])
def test_floats_are_the_same_numbers(observe):
    floats = VectorEnv(32, seed=5, observe=observe, state=True, dtype=np.float32)
    small = VectorEnv(32, seed=5, observe=observe, state=True)
    for _ in range(300):
        for env in (floats, small):
            env.step(env.sample_actions())
        for name in ("observation", "state"):
            assert getattr(floats, name).dtype == np.float32
            assert np.array_equal(getattr(floats, name), getattr(small, name)), name


def test_a_step_makes_no_new_buffers():
    env = VectorEnv(8, seed=1, state=True)
    names = ("observation", "state", "action_mask", "current_player", "rewards", "terminated", "final_states")
    before = {name: getattr(env, name) for name in names}
    env.step(env.sample_actions())
    env.reset()
    assert all(getattr(env, name) is before[name] for name in names)
    assert env.sample_actions() is env.sample_actions()


def test_passes_over_many_games_are_the_same_on_threads(monkeypatch):
    alone, threaded = VectorEnv(64, seed=4), VectorEnv(64, seed=4, num_threads=3)
    monkeypatch.setattr(batch_module, "WORTH_A_THREAD", 1)
    for _ in range(100):
        actions = threaded.sample_actions().copy()
        assert np.array_equal(actions, alone.sample_actions())
        threaded.step(actions)
        alone.step(actions)
        assert np.array_equal(alone.observation, threaded.observation)
    bad = threaded.sample_actions().copy()
    bad[[20, 63]] = 76
    before = threaded.states.tobytes()
    with pytest.raises(IllegalActionError, match="game 20 "):
        threaded.step(bad)
    assert threaded.states.tobytes() == before
