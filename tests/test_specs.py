"""Agent specs: what they name, what they refuse, and that a built-in player needs nothing but its observation."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wzmj_env import Rules, VectorEnv
from wzmj_env._jit import njit
from wzmj_env.checks import MAX_NAME
from wzmj_env.imagine import read_view
from wzmj_env.observe import OBSERVATION_SIZE, PLANE, SEAT_COLUMN, write_observation
from wzmj_env.players import POLICIES, choose
from wzmj_env.specs import CLONE, BuiltIn, make_agent
from wzmj_env.state import PHASES, new_states


class Bot:
    """A legal action of each mask, the first or the last."""

    def __init__(self, last=False, word="bot"):
        self.last, self.name = last, word

    def act(self, observations, masks):
        return 75 - masks[:, ::-1].argmax(1) if self.last else masks.argmax(1)

    def reset(self, seed):
        self.seed = seed


def no_agent():
    return object()


def test_built_in_names_carry_their_policy():
    for name, policy in POLICIES.items():
        agent = make_agent(name)
        assert isinstance(agent, BuiltIn)
        assert (agent.name, agent.policy) == (name, policy)


def test_a_factory_gets_its_arguments():
    agent = make_agent("test_specs:Bot?last=True&word=deep")
    assert agent.last is True
    assert agent.name == "test_specs:Bot?last=True&word=deep"


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("ruel", "no such agent"),
        ("", "no such agent"),
        ("cmd:", "wants a program"),
        ("cmd:no-such-program --fast", "no program 'no-such-program'"),
        ("cmd:python 'open", "cannot be read"),
        ("random:9", "no such agent"),
        ("nowhere:make", "no module 'nowhere'"),
        ("test_specs:nothing", "has no 'nothing'"),
        ("test_specs:no_agent", "no act"),
        ("test_specs:Bot?depth=2", "depth"),
        ("test_specs:Bot?last", "key=value"),
        ("test_specs:Bot?last=1&last=2", "twice"),
        ("ppo:no/such/run", "no/such/run"),
        (7, "a spec is a text"),
        ("cmd:python \udce4", "1 to 1000 characters"),
    ],
)
def test_a_wrong_spec_is_named_in_one_clear_error(spec, what):
    with pytest.raises(ValueError, match=what) as raised:
        make_agent(spec)
    assert repr(spec) in str(raised.value)


def test_a_spec_longer_than_a_name_in_a_record_is_refused_at_once():
    assert make_agent("cmd:python " + "x" * (MAX_NAME - 11)).name.endswith("xx")
    with pytest.raises(ValueError, match="1 to 1000 characters"):
        make_agent("cmd:python " + "x" * (MAX_NAME - 10))


def test_what_is_allowed_is_said():
    with pytest.raises(ValueError, match=r"allowed are random.*search:WORLDS.*ppo:PATH.*module:factory"):
        make_agent("rulle")


def _specs_elsewhere(code, tmp_path, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_the_clone_is_found_from_any_folder(tmp_path):
    code = "from wzmj_env.specs import make_agent; make_agent('ppo:nothing')"
    done = _specs_elsewhere(code, tmp_path, PYTHONPATH=str(CLONE))
    assert "there is no checkpoint nothing" in done.stderr


def test_a_package_without_its_clone_says_so(tmp_path):
    (tmp_path / "wzmj_env").symlink_to(CLONE / "wzmj_env")
    code = f"import wzmj_env.specs as s, pathlib; s.CLONE = pathlib.Path({str(tmp_path)!r}); s.make_agent('ppo:x')"
    done = _specs_elsewhere(code, tmp_path, PYTHONPATH=str(CLONE))
    assert "needs the folder agents/ of a clone" in done.stderr


def test_a_factory_is_found_in_the_folder_one_works_in(tmp_path):
    (tmp_path / "own_bot.py").write_text(Path(__file__).read_text(encoding="utf-8").split("def no_agent")[0])
    script = tmp_path / "elsewhere" / "main.py"
    script.parent.mkdir()
    script.write_text("from wzmj_env.specs import make_agent; print(make_agent('own_bot:Bot').name)")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(CLONE)},
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "own_bot:Bot\n", done.stderr


# --- observation alone -----------------------------------------------------------------------------------------------


@njit
def _round_trip(observations, masks, known, again):
    for i in range(len(masks)):
        read_view(observations[i], masks[i], known[0])
        write_observation(known[0], 0, again[i])


@njit
def _choose(states, policy, actions):
    for i in range(len(states)):
        actions[i] = choose(states[i], policy)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_state_made_of_an_observation_shows_that_observation(players):
    rules = Rules(num_players=players)
    env, known = VectorEnv(1024, rules, seed=4, carry=True), new_states(1, rules)
    again = np.zeros((1024, OBSERVATION_SIZE), np.uint8)
    hidden = [(PLANE["SEAT"] + r) * 34 + SEAT_COLUMN["HAND_SIZE"] for r in range(1, players)]  # left empty
    phases = set()
    for _ in range(200):
        seen = env.observation.reshape(1024, OBSERVATION_SIZE).copy()
        _round_trip(seen, env.action_mask, known, again)
        seen[:, hidden] = 0
        assert np.array_equal(seen, again)
        phases |= set(env.states.phase.tolist())
        env.step(env.sample_actions())
    assert phases == set(range(len(PHASES) - 1))


def test_a_built_in_player_chooses_alike_from_its_observation_alone():
    for name, policy in POLICIES.items():
        agent, env = BuiltIn(name), VectorEnv(32, seed=6, carry=True)
        wanted = np.zeros(32, np.int64)
        for step in range(300):
            if name == "random":  # its stream is no matter of the observation
                agent.reset(step)
                env.states.policy[0] = step
            actions = agent.act(env.observation, env.action_mask)
            _choose(env.states, policy, wanted)
            compared = 1 if name == "random" else 32
            assert np.array_equal(actions[:compared], wanted[:compared]), (name, step)
            env.step(wanted)
