"""The drawing: tiles that differ, what a seat may see, and the same picture without any font."""

import itertools
import random
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from wzmj_env import Game, Match, Rules, VectorEnv, svg, tiles, wenzhou_mahjong_v0
from wzmj_env.scene import scene_of
from wzmj_env.state import new_states

from test_views import exchange_hidden

SVG = "{http://www.w3.org/2000/svg}"


def played(seed, steps, rules=None):
    """A game some steps on, claims preferred."""
    game, rng = Game(rules, seed=seed), random.Random(seed)
    for _ in range(steps):
        if game.done:
            break
        legal = game.legal_actions()
        game.step(rng.choice([a for a in legal if 68 <= a < 74] or legal))
    return game


def symbols_used(drawing):
    root = ElementTree.fromstring(drawing)
    return [use.get("href").removeprefix(f"#{svg.PREFIX}") for use in root.iter(f"{SVG}use")]


def test_every_tile_is_unlike_every_other_also_when_small():
    pictures = [svg.pixels(svg.tile_svg(k, 24)).astype(int) for k in range(34)]
    assert {picture.shape for picture in pictures} == {(32, 24, 3)}
    for (a, first), (b, second) in itertools.combinations(enumerate(pictures), 2):
        differing = (np.abs(first - second).max(axis=2) > 60).sum()
        assert differing >= 12, (tiles.kind_name(a), tiles.kind_name(b))


def test_drawings_need_no_font_and_nothing_from_outside():
    drawing = played(1, 60).svg()
    names = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(drawing).iter()}
    assert names == {"svg", "defs", "symbol", "use", "path", "rect", "circle"}
    assert drawing.count("http") == 1  # the name space
    ids = [element.get("id").removeprefix(svg.PREFIX) for element in ElementTree.fromstring(drawing).iter(f"{SVG}symbol")]
    assert len(ids) == len(set(ids))
    for seed, steps in itertools.product(range(6), (0, 40, 90, 500)):
        assert set(symbols_used(played(seed, steps).svg())) <= set(ids)


@pytest.mark.parametrize("rules", [Rules(), Rules.preset("duel"), Rules(num_players=3, stakes=False)])
def test_an_open_drawing_shows_every_tile_that_is_known(rules):
    for seed, steps in itertools.product(range(4), (0, 5, 50, 90, 500)):
        game = played(seed, steps, rules)
        scene = game.scene()
        used = symbols_used(game.svg())
        melds = [meld for by_seat in scene["melds"] for meld in by_seat]
        shown = sum(len(hand) for hand in scene["hands"] if isinstance(hand, list))
        shown += sum(len(meld) for meld, _, _ in melds) - 2 * sum(how == "concealed" for *_, how in melds)
        shown += sum(map(len, scene["discards"])) + (scene["caishen"] is not None) + (scene["question"] is not None)
        assert sum(name[0] == "t" for name in used) == shown
        assert used.count("back") == 1 + 2 * sum(how == "concealed" for *_, how in melds)
        assert used.count("gone") == sum(taken for row in scene["discards"] for _, taken in row)
        if scene["caishen"] is not None:
            caishen = f"t{scene['caishen']}"
            assert used.count("wild") == used.count(caishen) >= 1
        if scene["caishen"] is not None:
            on_table = [tile for row in scene["discards"] for tile, taken in row if not taken]
            total = len(on_table) + sum(map(len, scene["hands"])) + sum(len(meld) for meld, _, _ in melds)
            assert total + scene["remaining"] == tiles.NUM_TILES


def test_a_seat_sees_no_other_hand():
    for seed in range(8):
        game = played(seed, 60, Rules(num_players=2 + seed % 3))
        for seat in range(game.num_players):
            scene = game.scene(seat)
            for p, hand in enumerate(scene["hands"]):
                assert isinstance(hand, list) == (p == seat or p == scene["winner"])
            assert svg.seat_order(scene)[-1] == seat


def test_swapping_what_a_seat_cannot_know_changes_no_drawing():
    rng, env, changed = random.Random(2), VectorEnv(6, seed=5), 0
    for _ in range(40):
        env.step(env.sample_actions())
        for i, p in itertools.product(range(6), range(4)):
            states = env.states[i : i + 1]
            left, right = states[0], exchange_hidden(states, p, rng)[0]
            assert svg.table_svg(scene_of(left, 50, p)) == svg.table_svg(scene_of(right, 50, p))
            changed += scene_of(left, 50) != scene_of(right, 50)
    assert changed > 500


def test_before_the_deal_no_tile_is_shown():
    game = Game(seed=1)
    assert [name for name in symbols_used(game.svg()) if name[0] == "t"] == []
    assert game.scene()["caishen"] is None


def test_notebooks_and_environments_draw():
    assert Game(seed=1)._repr_svg_() == Game(seed=1).svg()
    assert Match(seed=1)._repr_svg_() == Match(seed=1).game.svg()
    env = wenzhou_mahjong_v0.raw_env(render_mode="rgb_array")
    env.reset(seed=1)
    picture = env.render()
    assert picture.shape == (svg.HEAD + 4 * svg.BAND, svg.WIDTH, 3) and picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10
    env.step(74)
    assert (env.render() != picture).any()


def test_wrong_use():
    with pytest.raises(ValueError, match="seat must be"):
        Game(seed=1).scene(4)
    with pytest.raises(ValueError, match="no kind 34"):
        svg.tile_svg(34)
    assert scene_of(new_states(1, Rules())[0], 0)["winner"] is None


def test_a_row_of_tiles_has_the_tiles_it_was_given_and_no_other_symbol():
    groups = [tiles.parse(group) for group in ("123m", "55z")]
    drawing = svg.hand_svg(groups, [([3, 4, 5], 0, "chi")], caishen=tiles.WHITE, marked=0)
    names = symbols_used(drawing)
    assert [name for name in names if name.startswith("t")] == ["t0", "t1", "t2", "t31", "t31", "t3", "t4", "t5", "t0"]
    assert names.count("wild") == 2 and names.count("asked") == 1
    defined = [symbol.get("id") for symbol in ElementTree.fromstring(drawing).iter(f"{SVG}symbol")]
    assert sorted(defined) == sorted(f"{svg.PREFIX}{name}" for name in set(names))
    assert svg.pixels(drawing).std() > 0
