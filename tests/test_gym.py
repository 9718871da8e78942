"""The Gymnasium environments: Gymnasium's own checks, and what they leave out."""

import copy
import pickle
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wzmj_env import Game, IllegalActionError, Rules, VectorEnv
from wzmj_env.gym import WenzhouMahjong
from wzmj_env.gym_vector import WenzhouMahjongVector
from wzmj_env.scoring import largest_loss
from wzmj_env.specs import make_agent

ID = "wzmj_env/WenzhouMahjong-v0"
NO_STAKES = Rules(stakes=False)


def first(observation, mask):
    return int(np.flatnonzero(mask)[0])


def last(observation, mask):
    return int(np.flatnonzero(mask)[-1])


def episode(env, rng, **reset):
    """One episode by chance: every observation and mask, the actions, the last reward."""
    observation, info = env.reset(**reset)
    seen = []
    while True:
        mask = info["action_mask"]
        action = int(rng.choice(np.flatnonzero(mask)))
        seen.append((observation.tobytes(), mask.tobytes(), action))
        observation, reward, terminated, truncated, info = env.step(action)
        assert truncated is False
        if terminated:
            return [*seen, (observation.tobytes(), info["action_mask"].tobytes(), reward)]
        assert reward == 0.0


# --- Gymnasium's own checks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("illegal", ["terminate", "penalty"])
@pytest.mark.parametrize("rules", [Rules(), NO_STAKES, Rules(num_players=2), Rules(num_players=3)])
def test_gymnasiums_check_passes_without_a_warning(rules, illegal):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ID, rules=rules, illegal=illegal)
        check_env(env.unwrapped)
        episode(env, np.random.default_rng(0), seed=0)  # under the passive checker


def test_a_batch_is_made_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = gymnasium.make_vec(ID, num_envs=3, opponents="random")
    assert isinstance(envs, WenzhouMahjongVector)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(observations)


# --- how they are found ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        "import wzmj_env, gymnasium, pettingzoo",
        "import gymnasium, pettingzoo, wzmj_env",
        "import gymnasium, wzmj_env; import pettingzoo",
    ],
)
def test_they_are_registered_in_whatever_order_one_imports(program):
    check = (
        f"{program}; assert gymnasium.spec({ID!r}); assert pettingzoo.__file__ and gymnasium.registry\n"
        "assert not hasattr(pettingzoo, 'register') or pettingzoo.spec('aec', 'wzmj_env/wenzhou_mahjong-v0')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", check], check=True)


def test_the_module_can_be_named_in_the_id():
    check = f"import gymnasium; gymnasium.make('wzmj_env:{ID}').reset(seed=0)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_importing_the_package_imports_neither_library():
    check = "import sys, wzmj_env; assert not {'gymnasium', 'pettingzoo'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_pettingzoos_registry_makes_the_aec_environment():
    env = pettingzoo.make("aec", "wzmj_env/wenzhou_mahjong_v0", rules=NO_STAKES)
    env.reset(seed=3)
    assert env.unwrapped.rules == NO_STAKES


# --- one table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Rules(), NO_STAKES, Rules(num_players=2, unit=20)])
@pytest.mark.parametrize("opponents", ["rule", "random", "greedy"])
def test_an_episode_is_the_hand_of_a_game_with_these_players(rules, opponents):
    agent = make_agent(opponents)
    env = gymnasium.make(ID, opponents=opponents, rules=rules, seat=1)
    rng = np.random.default_rng(0)
    for seed in range(6):
        game = Game(rules, seed=seed)
        observation, info = env.reset(seed=seed)
        terminated = False
        while not game.done:
            if game.current_player != 1:
                game.step(agent.choose(game._states))
                continue
            assert not terminated
            assert np.array_equal(observation, game.observe(1))
            assert np.array_equal(info["action_mask"], game.action_mask())
            assert np.array_equal(env.unwrapped.action_masks(), game.action_mask() == 1)
            action = int(rng.choice(game.legal_actions()))
            game.step(action)
            observation, reward, terminated, _, info = env.step(action)
        assert terminated
        assert np.array_equal(observation, game.observe(1))
        assert not info["action_mask"].any()
        assert type(reward) is float
        assert reward * rules.unit == game.result.payments[1]


class Lowest:
    name = "lowest"

    def __init__(self):
        self.seeds = []

    def act(self, observations, masks):
        return masks.argmax(axis=1)

    def reset(self, seed):
        self.seeds.append(seed)


def test_opponents_may_be_callables_agents_and_specs_of_any_kind():
    rng = np.random.default_rng
    expected = [episode(WenzhouMahjong(first, NO_STAKES), rng(s), seed=s) for s in range(4)]
    for opponents in (Lowest(), "test_gym:Lowest", [first, Lowest(), "test_gym:Lowest"]):
        assert [episode(WenzhouMahjong(opponents, NO_STAKES), rng(s), seed=s) for s in range(4)] == expected
    compiled = [episode(WenzhouMahjong("rule", NO_STAKES), rng(s), seed=s) for s in range(4)]
    agent = make_agent("rule")

    def rule(observation, mask):
        return agent.act(observation[None], mask[None])[0]

    assert [episode(WenzhouMahjong(rule, NO_STAKES), rng(s), seed=s) for s in range(4)] == compiled
    assert [episode(WenzhouMahjong(["rule", rule, "rule"], NO_STAKES), rng(s), seed=s) for s in range(4)] == compiled
    lowest = Lowest()
    env = WenzhouMahjong(["rule", lowest, "random"], NO_STAKES)
    env.reset(seed=8)
    assert lowest.seeds == [8]


def test_an_opponent_is_shown_what_its_seat_sees():
    game = Game(NO_STAKES, seed=5)
    seen = []

    def opponent(observation, mask):
        seen.append((observation.copy(), mask.copy()))
        return first(observation, mask)

    env = WenzhouMahjong(opponent, NO_STAKES)
    _, info = env.reset(seed=5)
    for _ in range(20):
        while game.current_player != 0:
            legal = game.legal_actions()
            if len(legal) > 1:
                observation, mask = seen.pop(0)
                assert np.array_equal(observation, game.observe(game.current_player))
                assert np.array_equal(mask, game.action_mask())
            game.step(legal[0])
        game.step(first(None, info["action_mask"]))
        _, _, terminated, _, info = env.step(first(None, info["action_mask"]))
        if terminated:
            break


def test_resets_without_a_seed_go_through_the_hands_of_the_game():
    env = WenzhouMahjong("rule", Rules())
    hands = VectorEnv(1, Rules(), seed=4)
    env.reset(seed=4)
    for _ in range(5):
        assert np.array_equal(env._states.wall[0], hands.states.wall[0])
        env.reset()
        hands.reset()
    carried = WenzhouMahjong(last, Rules(), carry=True)  # all pass stakes
    rng = np.random.default_rng(1)
    episode(carried, rng, seed=2)
    expected = carried._states.winner[0] == carried._states.dealer[0]
    before = int(carried._states.dealer[0])
    carried.reset()
    assert (carried._states.ladder[0] > 0) == expected or int(carried._states.dealer[0]) != before


def test_reset_options_are_arguments_of_a_game():
    wall = Game(seed=77).wall
    env = gymnasium.make(ID, opponents="rule")
    observation, _ = env.reset(options={"wall": wall, "dealer": 0, "ladder": 1, "foreign": 3})
    assert np.array_equal(observation, Game(wall=wall, dealer=0, ladder=1).observe(0))
    for options in ({"dealr": 1}, {"dealer": 9}, {"wall": [1, 2]}, {"Wall": wall}):
        with pytest.raises(ValueError, match=r"dealer|wall"):
            env.reset(options=options)


def test_a_hand_that_never_asks_the_seat_is_passed_over():
    def heavenly(seed):
        game = Game(NO_STAKES, seed=seed)
        agent = make_agent("rule")
        while not game.done and game.current_player != 0:
            game.step(agent.choose(game._states))
        return game.done

    seed = next(s for s in range(100_000) if heavenly(s))
    observation, info = WenzhouMahjong("rule", NO_STAKES).reset(seed=seed)
    assert info["action_mask"].any()
    envs = WenzhouMahjongVector(2, "rule", NO_STAKES)
    observations, _ = envs.reset(seed=seed)
    assert np.array_equal(observations[0], observation)


def test_what_the_seat_cannot_know_is_in_neither_observation_nor_info():
    """Hidden tiles drawn anew leave all that the learner is shown as it was."""
    rng, agent = np.random.default_rng(0), make_agent("rule")
    for seed in range(4):
        env, game = WenzhouMahjong("rule", render_mode="ansi"), Game(seed=seed)
        observation, info = env.reset(seed=seed)
        for step in range(12):
            while game.current_player not in (0, -1):
                game.step(agent.choose(game._states))
            if game.done:
                break
            other = copy.deepcopy(env)
            other._states[:] = game.resample(0, step)._states
            assert not np.array_equal(other._states.wall, env._states.wall)
            assert set(info) == {"action_mask"}
            assert np.array_equal(other._observe(0), observation)
            assert np.array_equal(other._info()["action_mask"], info["action_mask"])
            assert other.render() == env.render()
            action = int(rng.choice(game.legal_actions()))
            game.step(action)
            observation, _, _, _, info = env.step(action)


# --- illegal actions -------------------------------------------------------------------------------------------------


def illegal_one(mask):
    return int(np.flatnonzero(np.asarray(mask) == 0)[0])


@pytest.mark.parametrize("action", [None, -1, 76, 2**40])
def test_an_illegal_action_ends_the_episode_costs_or_raises(action):
    for illegal in ("terminate", "penalty", "raise"):
        env = WenzhouMahjong("rule", NO_STAKES, illegal=illegal)
        observation, info = env.reset(seed=1)
        bad = illegal_one(info["action_mask"]) if action is None else action
        if illegal == "raise":
            with pytest.raises(IllegalActionError, match=f"action {bad} is illegal for seat 0; legal are"):
                env.step(bad)
            after = env._observe(0), env._info()
        else:
            after = env.step(bad)
            assert after[1] == -largest_loss(NO_STAKES)
            assert after[2] is (illegal == "terminate")
        assert np.array_equal(after[0], observation)
        if illegal == "terminate":
            assert not after[-1]["action_mask"].any()
            with pytest.raises(IllegalActionError, match="reset"):
                env.step(0)
        else:
            assert np.array_equal(after[-1]["action_mask"], info["action_mask"])


@pytest.mark.parametrize("action", [1.5, "3", None, True])
def test_what_is_no_whole_number_raises(action):
    env = WenzhouMahjong("rule")
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match="whole number"):
        env.step(action)


def test_an_opponents_illegal_answer_is_its_own():
    env = WenzhouMahjong(lambda observation, mask: illegal_one(mask), NO_STAKES)
    with pytest.raises(IllegalActionError, match="opponent at seat"):
        for seed in range(5):
            episode(env, np.random.default_rng(seed), seed=seed)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"opponents": "rulez"}, "rulez"), ({"opponents": ["rule"]}, "opponents"), ({"opponents": 3}, "opponent"),
        ({"opponents": "cmd:cat"}, "cmd:cat"), ({"seat": 4}, "seat"), ({"illegal": "ignore"}, "illegal"),
        ({"rules": {}}, "rules"), ({"render_mode": "human"}, "render_mode"), ({"carry": 1}, "carry"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        WenzhouMahjong(**arguments)
    if named != "render_mode":
        with pytest.raises(ValueError, match=named):
            WenzhouMahjongVector(2, **arguments)


def test_a_compiled_batch_takes_built_in_players_only():
    with pytest.raises(ValueError, match="sync"):
        WenzhouMahjongVector(2, first)
    with pytest.raises(ValueError, match="dealer"):
        WenzhouMahjongVector(2).reset(options={"dealer": 1})


# --- keeping ---------------------------------------------------------------------------------------------------------


def test_copies_and_pickles_go_on_identically():
    env = WenzhouMahjong(["rule", first, "random"], NO_STAKES)
    _, info = env.reset(seed=3)
    for _ in range(3):
        info = env.step(first(None, info["action_mask"]))[-1]

    def go_on(env):
        env.step(first(None, env._info()["action_mask"]))
        return episode(env, np.random.default_rng(0))

    copied, pickled = copy.deepcopy(env), pickle.dumps(env)
    expected = go_on(env)
    assert go_on(copied) == expected
    assert go_on(pickle.loads(pickled)) == expected
    assert pickle.loads(pickle.dumps(WenzhouMahjong())).reset(seed=1)[1]["action_mask"].any()


def test_old_observations_and_infos_do_not_change():
    for env in (WenzhouMahjong("random"), WenzhouMahjongVector(3, "random")):
        observation, info = env.reset(seed=2)
        kept = []
        for _ in range(10):
            kept.append((observation, observation.copy(), info["action_mask"], info["action_mask"].copy()))
            actions = np.atleast_2d(info["action_mask"]).argmax(axis=1)
            observation, _, _, _, info = env.step(actions if len(actions) > 1 else int(actions[0]))
            if env.action_masks().sum() == 0:
                break
        for now, then, mask, mask_then in kept:
            assert np.array_equal(now, then)
            assert np.array_equal(mask, mask_then)


# --- the compiled batch ----------------------------------------------------------------------------------------------


def steps_of(envs, steps, seed=0):
    """Steps by chance, all that was shown."""
    rng = np.random.default_rng(seed)
    observations, infos = envs.reset(seed=seed)
    rows = []
    for _ in range(steps):
        mask = infos["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
        rows.append((observations.copy(), mask.copy(), actions))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        assert not truncated.any()
        rows[-1] += (rewards, terminated, infos)
    return rows


def same(one, other):
    """Whether infos are of the same form and values."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if one.dtype == object:
        return all((a is None and b is None) or np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    return one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("illegal", ["terminate", "penalty"])
@pytest.mark.parametrize("rules", [NO_STAKES, Rules(num_players=2, unit=5)])
def test_a_batch_of_one_shows_what_gymnasiums_own_shows(rules, illegal):
    arguments = {"opponents": "rule", "rules": rules, "illegal": illegal, "seat": 1}
    ours = WenzhouMahjongVector(1, **arguments)
    theirs = SyncVectorEnv([lambda: WenzhouMahjong(**arguments)], autoreset_mode=AutoresetMode.SAME_STEP)
    rng = np.random.default_rng(3)
    (mine, my_infos), (other, other_infos) = ours.reset(seed=6), theirs.reset(seed=6)
    ends = 0
    for step in range(400):
        assert np.array_equal(mine, other)
        assert same(my_infos, other_infos)
        mask = my_infos["action_mask"][0]
        action = rng.choice(np.flatnonzero(mask == 0)) if step % 30 == 29 else rng.choice(np.flatnonzero(mask))
        mine, *my_rest, my_infos = ours.step(np.array([action]))
        other, *other_rest, other_infos = theirs.step(np.array([action]))
        for a, b in zip(my_rest, other_rest, strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
        ends += int(my_rest[1][0])
    assert ends > 5


def test_infos_of_many_have_the_form_of_gymnasiums_own():
    ours = WenzhouMahjongVector(8, "random", NO_STAKES)
    theirs = SyncVectorEnv([lambda: WenzhouMahjong("random", NO_STAKES)] * 8, autoreset_mode=AutoresetMode.SAME_STEP)
    forms = []
    for envs in (ours, theirs):
        infos = next(row[-1] for row in steps_of(envs, 200) if 0 < row[-2].sum() < 8)
        ended = infos["_final_obs"]
        assert np.array_equal(ended, infos["_final_info"])
        assert [o is not None for o in infos["final_obs"]] == ended.tolist()
        assert np.array_equal(infos["final_info"]["_action_mask"], ended)
        forms.append({key: getattr(value, "dtype", type(value)) for key, value in infos.items()})
    assert forms[0] == forms[1]


def test_game_i_is_the_same_at_any_batch_size_and_number_of_threads():
    rows = [steps_of(WenzhouMahjongVector(1, "rule"), 60)]
    fixed = [row[2][0] for row in rows[0]]
    for size, threads in ((5, 1), (64, 2), (64, 3)):
        envs = WenzhouMahjongVector(size, "rule", num_threads=threads)
        observations, infos = envs.reset(seed=0)
        for step, (expected, mask, *_) in enumerate(rows[0]):
            assert np.array_equal(observations[0], expected[0])
            assert np.array_equal(infos["action_mask"][0], mask[0])
            actions = infos["action_mask"].argmax(axis=1)
            actions[0] = fixed[step]
            observations, _, _, _, infos = envs.step(actions)


def test_rewards_of_a_batch_are_the_payments_and_finals_the_last_sight():
    envs = WenzhouMahjongVector(32, "random", Rules(unit=20), seat=2)
    settled = 0
    for _, _, _, rewards, terminated, infos in steps_of(envs, 300):
        assert not rewards[~terminated].any()
        for i in np.flatnonzero(terminated):
            assert infos["final_obs"][i].dtype == np.uint8
            settled += 1
    assert settled > 50
    for i in range(32):
        result = envs.games.final_result(i)
        assert result is not None
        assert np.array_equal(envs.games.final_observation(i, 2), envs.games.final_observation(i, envs.games.seat))


def test_an_illegal_action_in_a_batch():
    for illegal in ("terminate", "penalty", "raise"):
        envs = WenzhouMahjongVector(3, "rule", NO_STAKES, illegal=illegal)
        observations, infos = envs.reset(seed=1)
        actions = infos["action_mask"].argmax(axis=1)
        actions[1] = illegal_one(infos["action_mask"][1])
        if illegal == "raise":
            with pytest.raises(IllegalActionError, match="game 1"):
                envs.step(actions)
            assert np.array_equal(envs.games.observation, observations)
            continue
        after, rewards, terminated, _, infos = envs.step(actions)
        assert rewards[1] == -largest_loss(NO_STAKES)
        assert terminated[1] == (illegal == "terminate")
        assert not np.array_equal(after[0], observations[0])  # the other games have gone on
        assert np.array_equal(after[1], observations[1]) == (illegal == "penalty")
        if illegal == "terminate":
            assert np.array_equal(infos["final_obs"][1], observations[1])
    with pytest.raises(IllegalActionError, match="3 whole numbers"):
        envs.step(np.zeros(3))


def test_a_batch_without_copies_rewrites_its_buffers():
    envs = WenzhouMahjongVector(4, "random", copy=False)
    observations, infos = envs.reset(seed=1)
    after, _, _, _, infos_after = envs.step(infos["action_mask"].argmax(axis=1))
    assert after is observations
    assert infos_after["action_mask"] is infos["action_mask"]


def test_built_in_players_can_play_the_seat_in_compiled_code():
    games = WenzhouMahjongVector(4, "rule", NO_STAKES).games
    report = games.rollout(300, "rule")
    assert report.hands > 10
    assert (games.current_player == 0).all()
