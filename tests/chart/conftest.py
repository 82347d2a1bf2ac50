from __future__ import annotations

import os

import pytest

from tests.chart.helm import BUILD_IT, Helm, found


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm 4, skipped where it was not built."""
    program = found(os.environ)
    if program is None:
        pytest.skip(f"There is no Helm: {BUILD_IT}")
    return Helm(program, tmp_path_factory.mktemp("helm"))
