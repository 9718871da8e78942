"""Rollouts by workers and learners together: the numbers of one process, whoever plays and learns."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml
from test_ppo import TINY, same

from agents.ppo import CHECKPOINT, read_checkpoint
from train import learners, rollouts
from train.ppo import collect, make_run, one_update, plain, train
from train.ranks import Ranks
from train.runs import save_checkpoint
from wzmj_env.specs import CLONE

TABLES = replace(TINY, num_envs=4, num_steps=12, num_updates=4, checkpoint_every=1)
SLICES = replace(TABLES, rollout_workers=2)
BESIDE = {"beside_snapshots": 0.5, "snapshot_every": 1, "critic": "own"}


def trained(config, tmp_path, stops=()):
    """The checkpoint of a whole run, stopped and resumed in between."""
    for stop in (*stops, None):
        run = make_run(config)
        if (tmp_path / CHECKPOINT).exists():
            run.restore(read_checkpoint(tmp_path / CHECKPOINT))
        train(run, tmp_path, stop)
    kept = read_checkpoint(tmp_path / CHECKPOINT)
    return {name: value for name, value in kept.items() if name not in ("seconds", "config")}


def folder(tmp_path, name):
    (tmp_path / name).mkdir()
    return tmp_path / name


# --- slices ----------------------------------------------------------------------------------------------------------


def test_slices_play_the_games_of_all_tables_at_once():
    """The same decisions; a network's answers may differ in the last bit with the size of a batch."""
    played = []
    for config in (TABLES, SLICES):
        run = make_run(config)
        for _ in range(2):
            collect(run)
            b = run.rollout
            held = b.values.clone(), b.log_probs.clone()
            b.hold_over(b.dones)  # whatever: the same for both
        played.append((run, *held))
    (whole, *of_whole), (parts, *of_parts) = played
    for name in ("inputs", "masks", "actions", "seats", "valid", "rewards", "dones"):
        one, other = (np.asarray(getattr(run.rollout, name)) for run in (whole, parts))
        assert np.array_equal(one, other), name
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(of_whole, of_parts, strict=True))
    assert np.array_equal(whole.tables.states, parts.tables.states)


def test_a_run_by_ray_stopped_and_resumed_is_the_one_of_this_process_to_the_bit(ray, tmp_path):
    config = replace(SLICES, **BESIDE)
    here = trained(config, folder(tmp_path, "serial"))
    there = trained(replace(config, rollout="ray"), folder(tmp_path, "ray"), stops=(2,))
    assert there["update"] == 4
    assert same(here, there)


def die_once(there, piece, common):
    """As `play_slice`, but the first worker that is asked is killed in the middle of its rollout."""
    from train import ppo

    mark = os.path.join(os.environ["MARK"], "killed")
    if not os.path.exists(mark):
        open(mark, "w").close()
        ppo.draw = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
    return PLAY_SLICE(there, piece, common)


PLAY_SLICE = rollouts.play_slice


@pytest.mark.parametrize("executor", ["ray", "processes"])
def test_a_worker_killed_in_its_rollout_changes_nothing(ray, tmp_path, monkeypatch, executor):
    here = trained(SLICES, folder(tmp_path, "serial"))
    mark = folder(tmp_path, "mark")
    monkeypatch.setenv("MARK", str(mark))
    config = replace(SLICES, rollout=executor)
    run = make_run(config)
    run.slices._asked = (*run.slices._asked[:2], make_killed, run.slices._asked[3], str(mark))
    monkeypatch.setattr(rollouts, "play_slice", die_once)
    train(run, folder(tmp_path, "killed"))
    assert (mark / "killed").exists()
    there = read_checkpoint(tmp_path / "killed" / CHECKPOINT)
    assert same(here, {name: there[name] for name in here})


def make_killed(values, mark):
    os.environ["MARK"] = mark
    return rollouts.make_worker(values)


@pytest.mark.parametrize(("changes", "what"), [
    ({"rollout_workers": 3}, "num_envs must be a multiple of 3"),
    ({"rollout_workers": 0}, "rollout_workers must be above 0"),
    ({"rollout": "rays"}, "executor must be one of serial, processes, ray or ray:ADDRESS, not 'rays'"),
])  # fmt: skip
def test_wrong_configurations_are_refused(changes, what):
    with pytest.raises(ValueError, match=what):
        make_run(replace(TABLES, **changes))


# --- learners --------------------------------------------------------------------------------------------------------

VINES = {"prior": "rule:2", "vine_updates": 1, "vine_decisions": 16, "vine_minibatches": 2, "target_kl": 1.0}


def by_torchrun(config, tmp_path):
    """The checkpoint of two learners as processes."""
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(plain(config)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "train.ppo"]
    arguments = [str(path), "--run-dir", str(tmp_path / "run"), "--final-deals", "0"]
    done = subprocess.run([*command, *arguments], cwd=CLONE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return read_checkpoint(tmp_path / "run" / CHECKPOINT)


def close(one, other):
    return all(torch.allclose(one[name], other[name], atol=1e-4) for name in one)


def test_two_learners_learn_what_one_does(ray, tmp_path):
    """But for the order in which gradients are summed. Resumed they go on exactly, by torchrun as in actors of Ray."""
    config = replace(TABLES, num_updates=2, anneal_lr=False, **VINES)
    one = make_run(config)
    rows = [one_update(one) for _ in range(2)]
    two = by_torchrun(config, tmp_path)
    alone = one.checkpoint()
    assert torch.equal(alone["torch_rng"], two["torch_rng"])
    assert close(alone["learning"], two["learning"])
    assert alone["hands"] == two["hands"] and alone["decisions"] == two["decisions"]
    assert same(alone["tables"], two["tables"]) and same(alone["held"]["inputs"], two["held"]["inputs"])
    assert rows[1]["losses/entropy"] > 0
    # in actors of Ray, stopped after the first update
    run_dir = folder(tmp_path, "actors") / "run"
    path = str(tmp_path / "config.yaml")
    first = [path, "--run-dir", str(run_dir), "--final-deals", "0", "--num-updates", "1"]
    assert learners.run(2, first) == 0
    assert learners.run(2, ["--resume", str(run_dir), "--num-updates", "2"]) == 0
    resumed = read_checkpoint(run_dir / CHECKPOINT)
    for checkpoint in (two, resumed):
        for name in ("seconds", "config"):
            checkpoint.pop(name)
    assert same(two, resumed)


def test_parts_of_a_minibatch_weigh_what_they_hold():
    rows = torch.arange(10)
    mine = rows < 3
    (own, weight), (other, rest) = Ranks(0, 2).share(rows, mine), Ranks(1, 2).share(rows, ~mine)
    values = torch.randn(10)
    assert (values[own].mean() * weight + values[other].mean() * rest) / 2 == pytest.approx(values.mean().item(), abs=1e-6)
    none, nothing = Ranks(0, 2).share(rows, rows < 0)
    assert (len(none), nothing) == (1, 0)
    everything, whole = Ranks().share(rows, mine)
    assert everything is rows and whole == 1
    with pytest.raises(ValueError, match="multiple of 6, learners times rollout_workers"):
        Ranks(0, 2).slices(8, 3)
    assert Ranks(1, 2).slices(8, 2) == [slice(4, 6), slice(6, 8)]


def test_checkpoints_of_slices_load_elsewhere(tmp_path):
    """One written with two slices goes on with one."""
    run = make_run(SLICES)
    one_update(run)
    save_checkpoint(tmp_path / CHECKPOINT, run.checkpoint())
    again = make_run(TABLES)
    again.restore(read_checkpoint(tmp_path / CHECKPOINT))
    assert again.update == 1 and np.array_equal(again.tables.states, run.tables.states)
