from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from simulator.clock import Durations
from simulator.cluster import start
from simulator.real_api import RealApi
from tests.contract.clusters import ClusterUnderTest, Fake, Served
from tests.control_plane.emptying import emptied
from tests.control_plane.plane import ControlPlane


@contextmanager
def _served(real: RealApi | None) -> Iterator[Served]:
    # A pod takes half a real second to end, so that a test can see it ending.
    times, operator = Durations(pod_stop=500), ("nvidia-dcgm-exporter",)
    with start(nodes=2, speed=1000, workloads=False, operator=operator, durations=times, real=real) as cluster:
        under_test = Served(cluster)
        yield under_test
        under_test.close()


@pytest.fixture
def simulated() -> Iterator[Served]:
    """A simulated cluster of two nodes without workloads, a thousand times as fast as a real one."""
    with _served(None) as served:
        yield served


@pytest.fixture
def real(control_plane: ControlPlane) -> Iterator[Served]:
    """The same machines under a real control plane."""
    with emptied(control_plane) as api, _served(api) as served:
        yield served


@pytest.fixture(params=["simulated", "real"])
def served(request: pytest.FixtureRequest) -> Served:
    """The two with an API server in turn: for what the fake does not know."""
    found: Served = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["fake", "simulated", "real"])
def cluster(request: pytest.FixtureRequest) -> ClusterUnderTest:
    """Each of the three in turn."""
    if request.param == "fake":
        return Fake()
    found: ClusterUnderTest = request.getfixturevalue(request.param)
    return found
