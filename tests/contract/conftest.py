from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulator.clock import Durations
from simulator.cluster import start
from tests.contract.clusters import ClusterUnderTest, Fake, Simulated


@pytest.fixture
def simulated() -> Iterator[Simulated]:
    """A simulated cluster of two nodes without workloads, a thousand times as fast as a real one."""
    # A pod takes half a real second to end, so that a test can see it ending.
    times = Durations(pod_stop=500)
    with start(nodes=2, speed=1000, workloads=False, operator=("nvidia-dcgm-exporter",), durations=times) as cluster:
        under_test = Simulated(cluster)
        yield under_test
        under_test.client.close()


@pytest.fixture(params=["fake", "simulated"])
def cluster(request: pytest.FixtureRequest) -> ClusterUnderTest:
    """Each of the two in turn."""
    if request.param == "fake":
        return Fake()
    simulated: ClusterUnderTest = request.getfixturevalue("simulated")
    return simulated
