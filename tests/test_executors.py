"""Work in pieces: the same results whoever does it, and nothing but its piece lost with a worker that is killed."""

import importlib
import os
import signal
import time

import numpy as np
import pytest

from wzmj_env import Rules, arena, duplicate
from wzmj_env.arena import Plan, Store
from wzmj_env.duplicate import play, seatings
from wzmj_env.executors import KINDS, LOSSES, LostWorkersError, Serial, Threads, in_order, open_executor

DUEL = Rules(num_players=2, stakes=False)


class Adder:
    def __init__(self, start):
        self.start = start

    def add(self, piece, more=0):
        return self.start + piece + more

    def refuse(self, piece):
        raise KeyError(piece)

    def die_once(self, piece, folder):
        """The first that gets piece 1 is killed in the middle of it."""
        (folder / f"{piece}-{os.getpid()}-{time.monotonic_ns()}").touch()
        if piece == 1 and len(list(folder.glob("1-*"))) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return piece

    def die(self, piece):
        os.kill(os.getpid(), signal.SIGKILL)


def check(executor, tmp_path, dies=True):
    assert dict(executor.each(Adder.add, range(7), 100)) == {i: 110 + i for i in range(7)}
    assert list(in_order(executor.each(Adder.add, range(7)))) == [10 + i for i in range(7)]
    left = executor.each(Adder.add, range(3))
    next(left)
    left.close()
    with pytest.raises(KeyError):
        list(executor.each(Adder.refuse, [1]))
    if dies:
        assert sorted(executor.each(Adder.die_once, range(5), tmp_path)) == [(i, i) for i in range(5)]
        with pytest.raises(LostWorkersError, match=str(LOSSES)):
            list(executor.each(Adder.die, [1]))
    assert list(executor.each(Adder.add, [])) == []


def test_this_process_and_threads(tmp_path):
    for executor in (Serial(Adder, 10), Threads(2, Adder, 10)):
        with executor:
            check(executor, tmp_path, dies=False)


def test_processes(tmp_path):
    with open_executor("processes", 2, Adder, 10) as executor:
        check(executor, tmp_path)


def test_ray(ray, tmp_path):
    with open_executor("ray", 2, Adder, 10) as executor:
        check(executor, tmp_path)
        tasks = len(list(tmp_path.iterdir()))
    assert tasks == 6  # of five pieces one was begun twice
    assert ray.is_initialized()  # it was there before


def test_more_workers_than_there_is_room_for(ray):
    with open_executor("ray", 4, Adder, 10) as executor:
        assert dict(executor.each(Adder.add, range(5))) == {i: 10 + i for i in range(5)}


@pytest.mark.parametrize("kind", ["rays", "ray:", "threads", ""])
def test_another_executor_is_refused(kind):
    with pytest.raises(ValueError, match=f"executor must be one of {', '.join(KINDS)} or ray:ADDRESS, not {kind!r}"):
        open_executor(kind, 1, Adder, 10)


def test_without_ray_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ValueError, match=r"pip install 'wzmj\[ray\]'"):
        open_executor("ray", 1, Adder, 10)


# --- duplicate deals and the arena -----------------------------------------------------------------------------------


def test_the_same_seeds_give_the_same_games_whatever_the_executor(ray, monkeypatch):
    monkeypatch.setattr(duplicate, "CHUNK", 4)
    for specs in (["test_duplicate:Dice", "random"], ["greedy", "random"]):
        hands = [
            play(specs, seatings("duel", 2), 0, 10, seed=3, rules=DUEL, workers=2, executor=kind) for kind in ("serial", "ray")
        ]
        assert np.array_equal(*hands)
    with pytest.raises(ValueError, match="need specs"):
        play([duplicate.make_agent("random")] * 2, seatings("duel", 2), 0, 4, rules=DUEL, executor="ray")


def test_a_tournament_by_ray_is_the_one_of_this_process(ray, tmp_path, monkeypatch):
    monkeypatch.setattr(arena, "UNIT_DEALS_AT_TABLES", 2)
    plan = Plan(("greedy", "test_duplicate:Dice", "random"), players=2, deals=4, rules=DUEL)
    played = []
    for kind in ("serial", "ray"):
        (tmp_path / kind).mkdir()
        store = Store(tmp_path / kind, plan, False)
        assert arena.run(store, tmp_path / kind, workers=2, executor=kind)
        played.append(store.done())
        store.close()
        assert len(list((tmp_path / kind / arena.RECORDS).iterdir())) == len(plan.units())
    for unit, (hands, _) in played[0].items():
        assert np.array_equal(hands, played[1][unit][0])
    assert played[0].keys() == played[1].keys()
