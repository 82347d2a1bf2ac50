"""What the admission policy pins is what the steps run. Whether it also keeps others out, the real API server tells."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from app.domain.effects import NodeJob
from app.domain.policies import NodeJobs
from tests.building import a_policy, a_pool
from tests.chart.helm import CHART
from tests.chart.node_jobs import node_jobs

SHAPES: dict[str, list[dict[str, Any]]] = yaml.safe_load((CHART / "files/node-jobs.yaml").read_text(encoding="utf-8"))
IMAGES = {"host": "host:1", "diagnose": "dcgm:1", "benchmark": "nccl:1"}
POLICY = a_policy(
    a_pool(),
    a_pool(name="hosts", selector={"driver": "host"}, driver_root="/"),
    node_jobs=NodeJobs(host_image="host:1", diagnose_image="dcgm:1", benchmark_image="nccl:1"),
)


def is_of(shape: dict[str, Any], job: NodeJob) -> bool:
    """As the template writes it in CEL."""
    image = IMAGES[shape.get("image", "host")]
    return (
        job.image == image
        and len(job.argv) == len(shape["argv"])
        and all(_is(wanted, word) for wanted, word in zip(shape["argv"], job.argv, strict=True))
    )


def _is(wanted: Any, word: str) -> bool:
    if isinstance(wanted, str):
        return wanted == word
    if wanted.get("driverRoot"):
        return word in {"/host", "/host/run/nvidia/driver"}
    return re.search(wanted["matches"], word) is not None


@pytest.mark.parametrize("step", sorted(node_jobs(POLICY)))
def test_each_step_runs_what_the_chart_pins(step: str) -> None:
    """When a step's argv changes, charts/sickbay/files/node-jobs.yaml changes with it."""
    job = node_jobs(POLICY)[step]

    kind = "host" if job.host else "gpus"
    assert [shape for shape in SHAPES[kind] if is_of(shape, job)], f"{step} runs {job.argv}"
    assert not [shape for other, shapes in SHAPES.items() if other != kind for shape in shapes if is_of(shape, job)]


def test_the_chart_pins_nothing_that_no_step_runs() -> None:
    jobs = node_jobs(POLICY).values()

    assert [shape for shapes in SHAPES.values() for shape in shapes if not any(is_of(shape, job) for job in jobs)] == []
