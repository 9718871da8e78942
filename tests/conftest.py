"""Fixtures of more than one file."""

import pytest

from wzmj_env.executors import connect_ray


@pytest.fixture(scope="module")
def ray():
    """Ray with two cores, for all tests of a module."""
    ray, connected = connect_ray("", 2)
    assert connected
    yield ray
    ray.shutdown()
