"""What holds for every test: a clean environment, and `--no-skips` for CI. Fixtures of an area stand in that area."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from app.store import Store, connect
from simulator import valkey as embedded
from tests.chart import helm as helms
from tests.chart.helm import Helm
from tests.control_plane import binaries
from tests.control_plane.plane import ControlPlane

# How long an example takes says more about the machine than about the code. The examples are the same in every run, so
# that a change lands or does not by what it is.
settings.register_profile(
    "thorough", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=25)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("thorough" if config.getoption("--thorough") else "quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips",
        action="store_true",
        help="A skipped test is a failure: where everything that the tests need is installed, a skip proves nothing.",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="Everything: also tests marked thorough, every point of the crash trap, and all examples of a property.",
    )


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: stories mostly wait for the processes that they started."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without --thorough, what takes minutes is left to CI."""
    if config.getoption("--thorough"):
        return
    left = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether the run is to try everything."""
    return bool(request.config.getoption("--thorough"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and binaries.BUILD_THEM in _reason(report):
        report.longrepr = (__file__, 0, _reason(report))  # one place for all of them, so that they are told in one line
    if item.config.getoption("--no-skips") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and --no-skips forbids that: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if collector.config.getoption("--no-skips") and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped as a whole, and --no-skips forbids that: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on who runs it: settings and the way to a cluster are given by the test, or absent."""
    for name in list(os.environ):
        if name.startswith("SICKBAY_") or name in {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def valkey() -> Iterator[embedded.EmbeddedValkey]:
    """A real Valkey for the whole run; each test that asks for `store` finds it empty."""
    with embedded.start(appendonly=False) as server:
        yield server


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A real control plane, booted once for all tests of this process. `tests.control_plane.emptying` empties it."""
    if missing := binaries.missing(os.environ):
        pytest.skip(f"needs a real control plane, and {missing[0]} is not built: {binaries.BUILD_THEM}")
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm 4, skipped where it was not built."""
    program = helms.found(os.environ)
    if program is None:
        pytest.skip(f"needs Helm, and it is not built: {helms.BUILD_IT}")
    return Helm(program, tmp_path_factory.mktemp("helm"))


@pytest.fixture
def emptied(valkey: embedded.EmbeddedValkey) -> Iterator[Callable[[], Store]]:
    """The store on an empty Valkey, emptied anew at each call: for tests that live through a story many times."""
    redis = connect(valkey.url)

    def empty() -> Store:
        redis.flushall()
        return Store(redis)

    yield empty
    redis.close()


@pytest.fixture
def store(valkey: embedded.EmbeddedValkey) -> Iterator[Store]:
    """The store on an empty Valkey."""
    redis = connect(valkey.url)
    redis.flushall()
    yield Store(redis)
    redis.close()
