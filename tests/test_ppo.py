"""The trainer: each seat's own trajectory, its loss, exact resume, checkpoints that survive, and what it refuses."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.advice import ADVICE_SIZE, ADVISER, advise
from agents.network import MASKED, Network, Shape, input_columns
from agents.ppo import CHECKPOINT, SHIPPED, PPOAgent, load, read_checkpoint
from train.ppo import (
    WEIGHTS,
    Config,
    collect,
    decisions_of,
    learn,
    log_prob_and_entropy,
    main,
    make_run,
    measure,
    one_update,
    ppo_loss,
    seat_advantages,
    train,
)
from train.runs import fresh_folder, read_config, read_metrics, save_checkpoint
from train.tables import LEARNER, Tables, draw
from wzmj_env import Rules, VectorEnv
from wzmj_env.actions import PASS
from wzmj_env.specs import CLONE, make_agent

TINY = Config(hidden=(16,), num_envs=8, num_steps=24, num_minibatches=2, update_epochs=2, num_updates=20, seed=5)
QUICK = str(CLONE / "configs/ppo/quick.yaml")
TINY_ARGUMENTS = [
    *("--hidden", "8", "--num-envs", "8", "--num-steps", "16", "--num-updates", "2"),
    *("--eval-every", "1", "--eval-deals", "2", "--final-deals", "4", "--workers", "1"),
]


def rows_of(closed):
    return torch.from_numpy(np.flatnonzero(closed))


def rollouts(config=TINY, number=3, learning=False):
    """Consecutive rollouts: the run, whose buffer is rewritten by each, the advantages and what is closed."""
    run = make_run(config)
    for _ in range(number):
        collect(run)
        advantages, closed = seat_advantages(run.rollout, config.gamma, config.gae_lambda)
        if learning:
            learn(run, decisions_of(run.rollout, advantages), rows_of(closed))
        yield run, advantages, closed
        run.rollout.hold_over(closed)


# --- trajectories ----------------------------------------------------------------------------------------------------


def chains(b):
    """Each seat's decisions of one hand in time, with the reward of each and whether the hand's end was seen."""
    for n in range(b.valid.shape[1]):
        for p in range(b.rewards.shape[2]):
            rows, rewards = [], []
            for t in range(len(b.valid)):
                if b.valid[t, n] and b.seats[t, n] == p:
                    rows.append(t)
                    rewards.append(0.0)
                if rows:
                    rewards[-1] += b.rewards[t, n, p]
                if b.dones[t, n]:
                    yield n, rows, rewards, True
                    rows, rewards = [], []
            yield n, rows, rewards, False


def slow_advantage(values, rewards, i, ended, gamma, gae_lambda):
    """GAE of decision i of a chain by its definition; None while it is open."""
    if i + 1 < len(values):
        delta = rewards[i] + gamma * values[i + 1] - values[i]
        later = slow_advantage(values, rewards, i + 1, ended, gamma, gae_lambda)
        return delta + gamma * gae_lambda * (later or 0.0)
    return rewards[i] - values[i] if ended else None


@pytest.mark.parametrize("players", [2, 3, 4])
def test_gae_equals_a_slow_recursion_along_each_seat(players, tmp_path):
    (tmp_path / "rules.yaml").write_text(f"num_players: {players}\nstakes: false\n")
    config = Config(**{**vars(TINY), "rules": str(tmp_path / "rules.yaml"), "gamma": 0.97, "num_steps": 100})
    seen = 0
    for run, advantages, closed in rollouts(config):
        b = run.rollout
        visited = np.zeros_like(closed)
        for n, rows, rewards, ended in chains(b):
            values = [b.values[t, n].item() for t in rows]
            for i, t in enumerate(rows):
                expected = slow_advantage(values, rewards, i, ended, config.gamma, config.gae_lambda)
                assert closed[t, n] == (expected is not None)
                if expected is not None:
                    assert advantages[t, n] == pytest.approx(expected, abs=1e-4)
                    seen += 1
                visited[t, n] = True
        assert np.array_equal(visited, b.valid)
    assert seen > 1000


def test_rewards_of_each_seat_are_what_was_settled():
    """Played again beside the trainer: every payment to a seat that had decided in that hand is the reward of one
    decision, whichever rollout it falls into; the payments of seats that had not are counted apart."""
    config = Config(**{**vars(TINY), "gamma": 1.0, "gae_lambda": 0.0, "reward_scale": 1.0, "num_steps": 50})
    env = VectorEnv(config.num_envs, Rules(stakes=False), seed=config.seed, skip_forced=True)
    learnt, settled, undecided = (np.zeros((config.num_envs, 4)) for _ in range(3))
    decided = np.zeros((config.num_envs, 4), bool)
    for run, _, _ in rollouts(config, number=5):
        b = run.rollout
        for t in range(b.held, len(b.valid)):
            decided[np.arange(config.num_envs), env.current_player] = True
            env.step(b.actions[t].numpy())
            for n in np.flatnonzero(env.terminated):
                payments = env.final_states.payments[n]
                settled[n] += payments
                undecided[n] += np.where(decided[n], 0, payments)
                decided[n] = False
        b.values[:] = 0  # a decision's advantage is now its own reward
        rewards, closed = seat_advantages(b, config.gamma, config.gae_lambda)
        for t, n in zip(*np.nonzero(closed), strict=True):
            learnt[n, b.seats[t, n]] += rewards[t, n]
    assert np.array_equal(learnt + undecided, settled)
    assert learnt.any(axis=0).all()


def test_every_decision_is_learnt_from_once():
    config = Config(**{**vars(TINY), "num_steps": 10})
    played = learnt = 0
    for run, _, closed in rollouts(config, number=6):
        b = run.rollout
        played += b.valid[b.held :].sum()
        learnt += closed.sum()
        still_open = (b.valid & ~closed).sum()
    assert learnt + still_open == played
    assert still_open <= 4 * config.num_envs


def test_hands_are_counted_once(tmp_path):
    run = make_run(TINY)
    env = VectorEnv(TINY.num_envs, Rules(stakes=False), seed=TINY.seed, skip_forced=True)
    hands = drawn = 0
    for _ in range(4):
        row = one_update(run)
        before = hands
        for t in range(run.rollout.held, len(run.rollout.valid)):
            env.step(run.rollout.actions[t].numpy())
            hands += int(env.terminated.sum())
            drawn += int((env.final_states.value[env.terminated] == 0).sum())
        assert row["hands/settled"] == hands - before
        assert row["hands"] == hands
    assert 0 < drawn <= hands


# --- what is shown ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["no_stakes", "duel", "classic"])
def test_what_is_shown_in_training_is_what_an_agent_makes_of_its_observation(rules):
    """Inputs and advice written from the state equal those that the observation gives."""
    n, rules = 64, Rules.load(CLONE / f"configs/rules/{rules}.yaml")
    columns = input_columns("compact", False)
    tables = Tables(rules, np.full((n, rules.num_players), LEARNER), columns, 3)
    inputs, masks = np.zeros((n, len(columns)), np.uint8), np.zeros((n, 76), np.int8)
    players, learners, advice = np.zeros(n, np.int64), np.zeros(n, bool), np.zeros((n, ADVICE_SIZE), np.float32)
    rewards, done = np.zeros((n, rules.num_players), np.float32), np.zeros(n, bool)
    for turn in range(60):
        tables.show(inputs, masks, players, learners, advice)
        env = VectorEnv(n, rules)
        env.load_state_dict({**tables.state_dict(), "options": env._options})
        assert np.array_equal(env.action_mask, masks)
        assert np.array_equal(env.observation.reshape(n, -1)[:, columns], inputs)
        assert np.array_equal(advise(env.observation, masks, rules), advice)
        assert learners.all()
        tables.play(advice[:, :76].argmax(axis=1) if turn % 2 else masks.argmax(axis=1), rewards, done)


def test_the_prior_alone_plays_as_the_rule_player_but_for_ties():
    shape = Shape(hidden=(8,), prior=ADVISER)
    network = Network(shape)
    torch.nn.init.zeros_(network.actor.weight)
    agent, rule = PPOAgent(network, 4), make_agent(ADVISER)
    env = VectorEnv(256, Rules(stakes=False), seed=4, skip_forced=True)
    different = 0
    for _ in range(40):
        ours, its = agent.act(env.observation, env.action_mask), rule.act(env.observation, env.action_mask)
        ratio = advise(env.observation, env.action_mask)
        for i in np.flatnonzero(ours != its):
            assert ratio[i, ours[i]] == ratio[i, its[i]] == 0
            different += 1
        env.step(its)
    assert different > 0


def test_lots_fall_as_the_probabilities_say():
    torch.manual_seed(3)
    logits, masks = torch.randn(1, 76).repeat(200_000, 1), torch.zeros(200_000, 76, dtype=torch.int8)
    masks[:, [1, 5, 70, 74]] = 1
    actions, log_probs = torch.zeros(200_000, dtype=torch.int64), torch.zeros(200_000)
    draw(logits.numpy(), masks.numpy(), torch.rand(200_000).numpy(), actions.numpy(), log_probs.numpy())
    masked = logits.masked_fill(masks == 0, MASKED)
    assert torch.allclose(log_probs, log_prob_and_entropy(masked, actions)[0], atol=1e-5)
    assert torch.allclose(actions.bincount(minlength=76) / 200_000, masked[0].softmax(-1), atol=0.005)


# --- loss ------------------------------------------------------------------------------------------------------------


def test_the_first_ratio_is_one_on_every_sample():
    run, *_ = list(rollouts(number=4, learning=True))[-1]
    collect(run)
    advantages, closed = seat_advantages(run.rollout, 1.0, 0.95)
    assert closed[: run.rollout.held].any()  # held over from before the last update
    batch = decisions_of(run.rollout, advantages)[rows_of(closed)]
    _, logged = ppo_loss(run.network, batch, run.config, 0.01)
    assert (logged["ratio"] - 1).abs().max() < 1e-5  # float32, batches of other sizes


def test_one_legal_action_leaves_everything_finite():
    shape = Shape(hidden=(8,), prior=ADVISER)
    network = Network(shape)
    inputs = torch.zeros(4, len(shape.columns), dtype=torch.uint8)
    masks = torch.zeros(4, 76, dtype=torch.int8)
    masks[:, 74] = 1
    logits, values = network(inputs, masks, torch.zeros(4, ADVICE_SIZE))
    log_probs, entropy = log_prob_and_entropy(logits, torch.full((4,), 74))
    assert torch.equal(log_probs, torch.zeros(4))
    assert torch.equal(entropy, torch.zeros(4))
    (log_probs.sum() + entropy.sum() + values.sum()).backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())


def test_illegal_actions_have_no_probability():
    logits = torch.zeros(2, 76)
    logits[:, 10:] = MASKED
    log_probs, entropy = log_prob_and_entropy(logits, torch.zeros(2, dtype=torch.int64))
    assert torch.allclose(log_probs.exp(), torch.tensor(0.1))
    assert torch.allclose(entropy, torch.tensor(10.0).log())
    assert (logits.softmax(-1)[:, 10:] == 0).all()


def test_the_entropy_of_claims_counts_as_configured():
    run, advantages, closed = next(rollouts())
    batch = decisions_of(run.rollout, advantages)[rows_of(closed)]
    loss, logged = ppo_loss(run.network, batch, TINY, 0.1)
    thrice, _ = ppo_loss(run.network, batch, replace(TINY, ent_claims=3.0), 0.1)
    claims = batch.masks[:, PASS] == 1
    _, entropy = log_prob_and_entropy(run.network(batch.inputs, batch.masks, batch.advice)[0], batch.actions)
    assert 0 < claims.sum() < len(claims)
    assert torch.allclose(logged["losses/entropy_claims"], entropy[claims].mean())
    assert torch.allclose(loss - thrice, 0.1 * 2 * entropy[claims].sum() / len(claims), atol=1e-5)


def test_the_value_learns_a_constant():
    """Advantages and values that say 3 everywhere: the critic gets there."""
    run, *_ = next(rollouts())
    config = Config(**{**vars(TINY), "learning_rate": 0.01, "anneal_lr": False, "update_epochs": 40, "hidden": (16,)})
    advantages, closed = seat_advantages(run.rollout, 1.0, 0.95)
    batch = decisions_of(run.rollout, advantages)[rows_of(closed)]
    batch.values, batch.advantages = torch.zeros(len(batch)), torch.full((len(batch),), 3.0)
    run.config = config
    learn(run, batch, torch.arange(len(batch)))
    assert (run.network.values(batch.inputs, batch.advice) - 3).abs().mean() < 0.3


# --- resume and checkpoints ------------------------------------------------------------------------------------------


def same(a, b):
    """Equal to the bit, through dicts and lists."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_ten_updates_resumed_for_ten_are_twenty_to_the_bit(tmp_path):
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
    train(make_run(TINY), tmp_path / "whole")
    train(make_run(TINY), tmp_path / "parts", stop_at=10)
    torch.rand(7)  # nothing in between matters
    run = make_run(TINY)
    run.restore(read_checkpoint(tmp_path / "parts" / CHECKPOINT))
    train(run, tmp_path / "parts")
    whole, parts = (read_checkpoint(tmp_path / folder / CHECKPOINT) for folder in ("whole", "parts"))
    for checkpoint in (whole, parts):
        assert checkpoint.pop("seconds") > 0
    assert whole["update"] == 20
    assert same(whole, parts)
    rows = [
        [{k: v for k, v in row.items() if "second" not in k and "time" not in k} for row in read_metrics(tmp_path / x)]
        for x in ("whole", "parts")
    ]
    assert rows[0] == rows[1]
    assert [row["update"] for row in rows[0]] == list(range(1, 21))


def test_what_was_written_after_the_checkpoint_is_taken_out_of_the_metrics(tmp_path):
    run = make_run(Config(**{**vars(TINY), "num_updates": 5, "checkpoint_every": 2}))
    train(run, tmp_path, stop_at=4)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"update": 5, "decisions": 1}\n{"upda')  # killed here
    again = make_run(run.config)
    again.restore(read_checkpoint(tmp_path / CHECKPOINT))
    train(again, tmp_path)
    assert [row["update"] for row in read_metrics(tmp_path)] == [1, 2, 3, 4, 5]


KILLED = """
    import os, random, signal, sys, time
    from pathlib import Path
    import torch
    from train.runs import save_checkpoint

    path, moments = Path(sys.argv[1]), int(sys.argv[2])
    random.seed(1)
    save_checkpoint(path, {"n": 0, "weights": torch.zeros(200_000)})
    unfinished = 0
    for moment in range(moments):
        reader, writer = os.pipe()
        first = torch.load(path, weights_only=True)["n"]
        child = os.fork()
        if child == 0:
            n = first
            while True:
                n += 1
                os.write(writer, b"s")
                save_checkpoint(path, {"n": n, "weights": torch.full((200_000,), float(n))})
                os.write(writer, b"d")
        os.read(reader, 1)
        time.sleep(random.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(writer)
        told = b"s" + os.read(reader, 1 << 16)
        unfinished += told.endswith(b"s")
        kept = torch.load(path, weights_only=True)
        assert first + told.count(b"d") <= kept["n"] <= first + told.count(b"s"), (kept["n"], first, told)
        assert (kept["weights"] == kept["n"]).all()
    print(unfinished)
"""


def test_a_checkpoint_survives_being_killed_at_fifty_moments_of_saving(tmp_path):
    script = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / CHECKPOINT), "50"]
    done = subprocess.run(script, cwd=CLONE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 12  # it was killed in the middle of saving


def test_a_fresh_folder_is_never_an_old_one(tmp_path):
    assert [fresh_folder(tmp_path / "a" / "run").name for _ in range(3)] == ["run", "run-2", "run-3"]


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("num_env: 8", "unknown field 'num_env' (did you mean num_envs?)"),
        ("num_envs: many", "num_envs must be int, not 'many'"),
        ("num_envs: true", "num_envs must be int"),
        ("num_envs: 0", "num_envs must be above 0"),
        ("gamma: 1.5", "gamma must be from 0 to 1"),
        ("learning_rate: .nan", "learning_rate must be above 0"),
        ("hidden: [8, x]", "hidden must be"),
        ("hidden: []", "hidden must be"),
        ("[1, 2]", "no mapping"),
        ("a: b: c", "no YAML"),
        ("rules: configs/rules/none.yaml", "none.yaml"),
    ],
)
def test_a_wrong_configuration_ends_with_2_and_one_clear_error(text, what, tmp_path, capsys):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    assert main([str(path)]) == 2
    error = capsys.readouterr().err
    assert what in error
    assert error.startswith("train.ppo: ") and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


def test_wrong_use_ends_with_2(tmp_path, capsys):
    assert main([]) == 2
    assert main([str(tmp_path / "nothing.yaml")]) == 2
    assert main(["--resume", str(tmp_path)]) == 2
    assert main([QUICK, "--resume", str(tmp_path)]) == 2
    for arguments in (["--num-env", "8"], ["--num-envs", "x"], ["--clip-coef", "-1"], ["stray"]):
        with pytest.raises(SystemExit) as raised:
            main([QUICK, "--run-dir", str(tmp_path / "run"), *arguments])
        assert raised.value.code == 2
    assert not list(tmp_path.iterdir())


@pytest.fixture
def checkpoint(tmp_path):
    path = tmp_path / CHECKPOINT
    save_checkpoint(path, make_run(TINY).checkpoint())
    return path


def resumed_with(path, capsys, **changes):
    save_checkpoint(path, {**torch.load(path, weights_only=True), **changes})
    assert main(["--resume", str(path.parent)]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", ["observation_version", "action_version"])
def test_a_checkpoint_of_another_version_is_refused(name, checkpoint, capsys):
    assert f"{name} 99; this program reads 1" in resumed_with(checkpoint, capsys, **{name: 99})
    with pytest.raises(ValueError, match=f"{name} 99"):
        make_agent(f"ppo:{checkpoint}")


def test_a_checkpoint_that_does_not_fit_is_refused(checkpoint, capsys):
    assert main(["--resume", str(checkpoint.parent), "--hidden", "9"]) == 2
    assert "does not fit" in capsys.readouterr().err
    assert main(["--resume", str(checkpoint.parent), "--rules", "configs/rules/classic.yaml"]) == 2
    assert "rules" in capsys.readouterr().err
    kept = torch.load(checkpoint, weights_only=True)
    assert "does not fit" in resumed_with(checkpoint, capsys, tables={**kept["tables"], "states": None})
    assert "unknown field" in resumed_with(checkpoint, capsys, config={**kept["config"], "colour": 1})
    assert "no checkpoint of train.ppo" in resumed_with(checkpoint, capsys, network=None)


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_an_unreadable_checkpoint_is_refused(content, checkpoint, capsys):
    checkpoint.write_bytes(checkpoint.read_bytes()[:5000] if content is None else content)
    assert main(["--resume", str(checkpoint.parent)]) == 2
    assert "no readable checkpoint" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no readable checkpoint"):
        load(checkpoint.parent)


def test_unreadable_weights_are_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    for content in (b"", b"garbage" * 9):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"no weights of train\.ppo"):
            load(path)
    with pytest.raises(ValueError, match=r"cannot be read|no weights"):
        load(tmp_path / "none.safetensors")


def test_an_agent_refuses_a_table_of_another_size():
    agent = PPOAgent(Network(Shape(hidden=(8,))), 2)
    env = VectorEnv(3)
    with pytest.raises(ValueError, match="trained for 2 players; here are 4"):
        agent.act(env.observation, env.action_mask)


@pytest.mark.parametrize(("name", "players"), [("4p", 4), ("2p", 2)])
def test_shipped_weights_play_better_than_greedily_and_are_small(name, players):
    agent = make_agent(f"ppo:{name}")
    assert SHIPPED[name].stat().st_size <= 3_000_000
    found = measure(agent, "greedy", 100, Rules(num_players=players, stakes=False))
    assert found.verdict == "above"


# --- the whole -------------------------------------------------------------------------------------------------------


def test_the_configurations_are_valid():
    for path in (CLONE / "configs/ppo").glob("*.yaml"):
        read_config(Config, path)


def test_a_small_run_from_beginning_to_end(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([QUICK, *TINY_ARGUMENTS]) == 0
    folder = Path("runs/quick")
    assert {path.name for path in folder.iterdir()} >= {
        "config.yaml", "metrics.jsonl", "checkpoint.pt", "agent.safetensors", "results.json", "learning_curve.png",
    }  # fmt: skip
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads((folder / "results.json").read_text())
    assert results[0]["b"] == "random"
    assert {"mean", "low", "high", "deals", "hands", "profiles"} <= results[0].keys()
    assert [row["update"] for row in read_metrics(folder)] == [1, 2]
    assert all(len(row["eval/random"]) == 3 for row in read_metrics(folder))
    assert "ppo:runs/quick/agent.safetensors" in capsys.readouterr().out
    for path in (folder, folder / CHECKPOINT, folder / WEIGHTS):
        env = VectorEnv(5, Rules(stakes=False))
        agent, other = make_agent(f"ppo:{path}"), make_agent(f"ppo:{path}?sample=True")
        agent.reset(1)
        other.reset(1)
        for player in (agent, other):
            env.step(player.act(env.observation, env.action_mask))
    assert main(["--resume", str(folder), "--num-updates", "3"]) == 0
    assert len(read_metrics(folder)) == 3


# --- what the network may correct, and the body of shared weights ----------------------------------------------------

KINDS = Shape("compact", (8, 8), "central", (8,), ADVISER, 20.0, "all", "kinds")
IN_CONTEXT = replace(KINDS, activation="silu", context=True)


def shown(shape, tables=64, steps=40):
    """Inputs, masks and advice of decisions in the middle of hands."""
    env = VectorEnv(tables, Rules(stakes=False), seed=8, skip_forced=True, state=True)
    for _ in range(steps):
        env.step(env.sample_actions())
    inputs = torch.from_numpy(env.state.reshape(tables, -1)[:, shape.columns])
    return inputs, torch.from_numpy(env.action_mask.copy()), torch.from_numpy(advise(env.observation, env.action_mask))


def exchange_suits(x, first, planes):
    """Planes of 34 kinds from column `first` on with the first two suits exchanged, in place."""
    by_kind = x[:, first : first + planes * 34].view(len(x), planes, 34)
    by_kind[:, :, :18] = torch.cat((by_kind[:, :, 9:18], by_kind[:, :, :9]), 2).clone()


@pytest.mark.parametrize("shape", [KINDS, IN_CONTEXT], ids=["alone", "in context"])
def test_suits_share_all_weights_of_the_body_of_kinds(shape):
    torch.manual_seed(1)
    network = Network(shape)
    torch.nn.init.normal_(network.body.of_kind.weight)
    inputs, masks, advice = shown(KINDS)
    before = network.policy(inputs, torch.ones_like(masks), advice)
    exchanged, other = inputs.clone(), advice.clone()
    exchange_suits(exchanged, 0, network.body.planes)
    for first in (0, 34, 76):  # discards, gangs and live tiles
        exchange_suits(other, first, 1)
    after = network.policy(exchanged, torch.ones_like(masks), other)
    assert not torch.allclose(after[:, :68], before[:, :68], atol=1e-3)
    for first in (0, 34):
        exchange_suits(after, first, 1)
    assert torch.allclose(after, before, atol=1e-4)


def test_runs_are_seen_within_a_suit_only():
    network = Network(KINDS)
    torch.nn.init.normal_(network.body.of_kind.weight)
    inputs, _, advice = shown(KINDS)
    before = network.body(inputs, advice)
    changed = inputs.clone()
    changed[:, 8] = 1 - changed[:, 8].clamp(max=1)  # the first plane of the hand at 9m
    moved = (network.body(changed, advice) - before).abs().amax(0)
    assert moved[:34].gt(1e-6).nonzero().flatten().tolist() == [6, 7, 8]  # two layers reach two kinds, and no other suit


def test_in_context_every_kind_sees_every_other():
    network = Network(IN_CONTEXT)
    torch.nn.init.normal_(network.body.of_kind.weight)
    inputs, _, advice = shown(KINDS)
    changed = inputs.clone()
    changed[:, 8] = 1 - changed[:, 8].clamp(max=1)
    moved = (network.body(changed, advice) - network.body(inputs, advice)).abs().amax(0)
    assert moved[:34].gt(1e-6).all()


def test_where_only_claims_are_corrected_discards_are_the_advisers():
    shape = Shape("compact", (8,), "central", (8,), ADVISER, 20.0, "claims")
    network = Network(shape)
    torch.nn.init.normal_(network.actor.weight)
    inputs, masks, advice = shown(shape)
    logits = network.policy(inputs, torch.ones_like(masks), advice)
    assert torch.equal(logits[:, :34], 20 * advice[:, :34])
    assert not torch.allclose(logits[:, 34:], 20 * advice[:, 34:76])


def test_the_trainer_is_not_asked_where_there_are_but_discards():
    config = Config(**{**vars(TINY), "prior": ADVISER, "corrects": "claims", "inputs": "compact", "critic": "central"})
    asked = 0
    for run, _, _ in rollouts(config, 2):
        masks = run.rollout.masks[run.rollout.held :].flatten(0, 1)
        assert masks[:, 34:].any(1).all()
        asked += len(masks)
    assert asked


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("prior", [ADVISER, ""])
def test_a_run_with_the_body_of_kinds_learns(prior, context):
    shape = {"prior": prior, "body": "kinds", "hidden": (8, 8), "inputs": "compact", "critic": "central", "context": context}
    config = Config(**{**vars(TINY), **shape})
    for run, _, _ in rollouts(config, 2, learning=True):
        weights = run.network.body.of_kind.weight
        assert torch.isfinite(weights).all()
        assert run.optimizer.state[weights]["exp_avg"].abs().max() > 0


@pytest.mark.parametrize(
    "changes",
    [{"corrects": "claims"}, {"corrects": "hu"}, {"body": "kinds"}, {"body": "kinds", "inputs": "compact"}, {"body": "x"},
     {"activation": "tanh"}, {"context": True}],
)  # fmt: skip
def test_shapes_that_make_no_sense_are_refused(changes):
    with pytest.raises(ValueError, match=r"corrects must|body|activation must"):
        Shape(**changes)
