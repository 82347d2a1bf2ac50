"""Values that cannot be meant are refused, with what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart.helm import ROOT, Helm

STORE = ("--set", "redis.urlSecret.name=store")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (("mode=actt",), "mode"),
        (("modes=act",), "modes"),
        (("web.replicas=0",), "replicas"),
        (("image.digest=latest",), "digest"),
        (("service.port=80800",), "port"),
        (("url=sickbay.example",), "url"),
        (("nodeJobs.enabled=perhaps",), "enabled"),
        (("logLevel=loud",), "logLevel"),
    ],
)
def test_the_schema_names_the_value_that_is_wrong(helm: Helm, values: tuple[str, ...], told: str) -> None:
    refusal = helm.refusal(*STORE, *(part for value in values for part in ("--set", value)))

    assert "values don't meet the specifications of the schema" in refusal
    assert told in refusal


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((), "No store is named: set redis.urlSecret.name"),
        (("redis.urlSecret.name=a", "redis.trial.enabled=true"), "Two stores are named"),
        (("redis.urlSecret.name=a", "mode=act"), "which is no digest. Name it in the policy as image@sha256:"),
        (("redis.urlSecret.name=a", "policy=nothing"), "policy is no policy file: run `sickbay check-config FILE`"),
    ],
)
def test_what_values_mean_together_is_refused_in_a_sentence(helm: Helm, values: tuple[str, ...], sentence: str) -> None:
    assert sentence in helm.refusal(*(part for value in values for part in ("--set", value)))


def test_node_jobs_may_not_share_the_namespace_of_sickbay(helm: Helm, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        (ROOT / "config/policy.yaml").read_text().replace("namespace: sickbay-node-jobs", "namespace: sickbay")
    )

    assert "where Sickbay itself is installed" in helm.refusal(*STORE, "--set-file", f"policy={own}")
