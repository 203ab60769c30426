"""Safe explorers stay out of the holes of worlds that nobody here wrote."""

import pytest

from homeward.paper.toytext import KNOWN_TO_SLIP, SETTINGS, ToyTextSetting, calibrate, explore, ride
from homeward.planning.ends import End

LAKE, KNOWN, _, CLIFF = SETTINGS


@pytest.mark.parametrize(("setting", "floor"), [(LAKE, 11), (CLIFF, 37)])
def test_the_safe_explorer_sees_every_tile_it_can_leave_again(
    setting: ToyTextSetting, floor: int
) -> None:
    outing = explore(setting, 0.95, seed=0)
    assert not outing.died
    assert len(set(outing.path)) == floor
    assert outing.end is End.ONLY_BY_CHANCE


@pytest.mark.parametrize("setting", [LAKE, CLIFF])
def test_the_unsafe_explorer_is_lost_in_the_same_world(setting: ToyTextSetting) -> None:
    assert explore(setting, None, seed=0).died


def test_on_ice_known_to_slip_the_safe_explorer_is_never_lost() -> None:
    assert KNOWN.prior == KNOWN_TO_SLIP
    assert not any(explore(KNOWN, 0.95, seed).died for seed in range(10))
    assert any(explore(KNOWN, None, seed).died for seed in range(10))


def test_the_same_seed_gives_the_same_path() -> None:
    assert explore(KNOWN, 0.95, 3).path == explore(KNOWN, 0.95, 3).path


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.title)
def test_one_plan_followed_to_the_end_comes_home_as_promised(setting: ToyTextSetting) -> None:
    found = calibrate(setting, 0.95, worlds=300, seed=1)
    assert found.leaves
    assert found.bound >= 0.95 - 1e-9
    assert found.lower >= 0.95


def test_with_sampled_certificates_the_first_row_of_the_ice_is_seen_and_more() -> None:
    outings = [explore(KNOWN, 0.95, seed, "ours, sampled") for seed in (1, 3, 5)]
    assert all(set(range(4)) <= set(outing.path) for outing in outings)
    assert max(len(set(outing.path)) for outing in outings) > 4
    assert not any(outing.died for outing in outings)


def test_a_taxi_in_unknown_weather_explores_and_comes_back() -> None:
    found = ride(0.95, limit=20, seed=0)
    assert found.end is End.STEPS
    assert found.states >= 15
    assert found.home
