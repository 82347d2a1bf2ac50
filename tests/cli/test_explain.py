"""`sickbay explain`: what would be done about an Xid, a line or an alert, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.cli import root

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "samples"
SHIPPED = (ROOT / "config" / "policy.yaml").read_text(encoding="utf-8")
KEYS = ["decision", "code", "xid", "gpu", "node", "ladder", "plan", "reason"]

UUID = "GPU-00000000-1111-2222-3333-444444444444"
LOST = "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus."
HARMLESS = "NVRM: Xid (PCI:0000:65:00): 64, Row Remapper Error: row that is already pending remapping"
SWITCH = "nvidia-nvswitch1: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)"

REBOOT = ["cordon", "evidence", "drain", "reboot", "diagnose", "benchmark", "release"]
RESET = [
    *("cordon", "evidence", "drain", "pause-operands", "reset", "restore-operands"),
    *("diagnose", "benchmark", "release"),
]
TICKET = ["cordon", "evidence", "drain", "open-ticket", "await-ticket", "inventory", "diagnose", "benchmark", "release"]
ASKED = ["cordon", "evidence", "drain"]


@pytest.fixture(autouse=True)
def _shipped_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICKBAY_POLICY", str(ROOT / "config" / "policy.yaml"))


def run(*arguments: str | Path, given: str | None = None) -> Result:
    return CliRunner().invoke(root, ["explain", *map(str, arguments)], input=given)


def records(*arguments: str | Path, given: str | None = None) -> list[dict[str, Any]]:
    """The JSON Lines of a run that went well."""
    result = run(*arguments, "--json", given=given)
    assert (result.exit_code, result.stderr) == (0, "")
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert all(list(one) == KEYS for one in told)
    return told


def policy_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *changes: tuple[str, str]) -> None:
    """The shipped policy with each text replaced, which must be there."""
    text = SHIPPED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "policy.yaml").write_text(text)
    monkeypatch.setenv("SICKBAY_POLICY", str(tmp_path / "policy.yaml"))


def alert(**labels: str) -> dict[str, Any]:
    return {"status": "firing", "labels": {"alertname": "GpuXid", "err_code": "79", **labels}}


def body(*alerts: object, version: object = "4") -> dict[str, Any]:
    return {"version": version, "alerts": list(alerts)}


def write(path: Path, told: object) -> Path:
    path.write_text(json.dumps(told))
    return path


@pytest.mark.parametrize(
    ("number", "decision", "ladder", "plan", "reason"),
    [
        (
            79,
            "repair",
            ["reboot", "power-cycle", "ticket"],
            REBOOT,
            "Xid 79, GPU has fallen off the bus: class reboot.",
        ),
        (48, "repair", ["reset", "reboot", "power-cycle", "ticket"], RESET, "Xid 48, uncorrectable (double-bit) ECC"),
        (63, "repair", ["reset", "reboot", "ticket"], ["await-idle", *RESET], "Xid 63, memory row remapping recorded"),
        (64, "repair", ["ticket"], TICKET, "Xid 64, memory row remapping failed: class isolate. NVIDIA resets at once"),
        (31, "note", [], [], "Xid 31, GPU memory page fault: class application, which is only noted. An application"),
        (154, "note", [], [], "Xid 154, GPU recovery action changed: class unknown, which is only noted. It sums up"),
        (999, "note", [], [], "Xid 999: class unknown, which is only noted. Xid 999 is not in the catalogue"),
    ],
)
def test_a_number_is_explained_by_its_class(
    number: int, decision: str, ladder: list[str], plan: list[str], reason: str
) -> None:
    (told,) = records("--xid", str(number))
    assert (told["decision"], told["code"], told["xid"]) == (decision, f"xid-{number}", number)
    assert (told["gpu"], told["node"], told["ladder"], told["plan"]) == (None, None, ladder, plan)
    assert told["reason"].startswith(reason)


@pytest.mark.parametrize(
    ("line", "decision", "code", "plan"),
    [
        (LOST, "repair", "xid-79", REBOOT),
        (LOST[: LOST.index(",")], "note", "xid-79", []),
        (HARMLESS, "note", "xid-64", []),
        (LOST.replace("79, GPU", "119, GPU"), "repair", "xid-119", RESET),
        (
            "NVRM: Xid (PCI:0000:65:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (x)",
            "repair",
            "xid-154",
            REBOOT,
        ),
        ("NVRM: Xid (PCI:0000:65:00): 154, GPU recovery action changed from 0x2 (x) to 0x0 (x)", "note", "xid-154", []),
        (SWITCH, "repair", "sxid-24007", REBOOT),
        (SWITCH.replace("Fatal", "Non-fatal"), "note", "sxid-24007", []),
        (SWITCH.replace("24007", "99999"), "note", "sxid-99999", []),
        ("NVRM: Xid (PCI:0000:65:00): invalid", "ignore", None, []),
        ("\udce9\ud800", "ignore", None, []),
    ],
)
def test_a_line_is_explained_by_what_it_tells(line: str, decision: str, code: str | None, plan: list[str]) -> None:
    (told,) = records("--line", line)
    assert (told["decision"], told["code"], told["plan"]) == (decision, code, plan)
    assert bool(told["ladder"]) is (decision == "repair")
    assert run("--line", line).exit_code == 0


def test_lines_are_explained_one_by_one_with_the_cards_that_the_log_names(tmp_path: Path) -> None:
    log = tmp_path / "dmesg"
    log.write_text(f"{LOST}\n\n   \n{SWITCH}\nNVRM: GPU at PCI:0000:65:00: {UUID}\nnothing\n{LOST} {HARMLESS}\n")
    told = records("--lines", log)
    card = {"serial": None, "uuid": UUID, "index": None, "pci": "0000:65:00"}
    assert [(one["code"], one["gpu"]) for one in told] == [
        ("xid-79", card),
        ("sxid-24007", None),
        (None, None),
        (None, None),
        ("xid-79", card),
    ]
    assert told == records("--lines", "-", given=log.read_text())


def test_a_card_that_is_not_named_has_its_address() -> None:
    (told,) = records("--line", LOST)
    assert told["gpu"] == {"serial": None, "uuid": None, "index": None, "pci": "0000:65:00"}


def test_the_earlier_xid_is_told() -> None:
    (told,) = records("--line", "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 1 caused by previous Xid 149")
    assert told["reason"].endswith(" The driver names Xid 149 as its cause.")


def test_a_rung_that_cannot_be_taken_is_passed_over_and_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (told,) = records("--line", SWITCH)
    assert told["ladder"] == ["reset", "reboot", "power-cycle", "ticket"]
    assert told["reason"].endswith("Passes over reset: no UUID says which GPU to reset.")
    policy_with(
        monkeypatch, tmp_path, ("faults: {}", "faults: {xid-79: [reset, power-cycle], xid-1: [], xid-154: [reset]}")
    )
    (lost,) = records("--xid", "79")
    assert (lost["ladder"], lost["plan"]) == (["reset", "power-cycle"], ASKED)
    assert lost["reason"].endswith(
        "Passes over reset: a GPU that is off the bus cannot be reset."
        " Passes over power-cycle: pool gpu does not have it. No rung is left, so a person is asked."
    )
    (asked,) = records("--xid", "1")
    assert (asked["decision"], asked["ladder"], asked["plan"]) == ("repair", [], ASKED)
    assert "  ladder    none: a person is asked" in run("--xid", "1").stdout


def test_a_ladder_of_the_code_changes_nothing_for_a_line_that_says_all_is_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    policy_with(monkeypatch, tmp_path, ("faults: {}", "faults: {xid-79: [reboot], xid-64: [ticket]}"))
    assert [one["decision"] for one in records("--line", f"{HARMLESS}\n{LOST[: LOST.index(',')]}\n{LOST}")] == [
        *("note", "note", "repair"),
    ]


@pytest.mark.parametrize(
    ("name", "decisions"),
    [
        ("firing_single_0_34", ["repair"]),
        ("firing_single_pre_0_32", ["repair"]),
        ("mixed_firing_and_resolved", ["repair", "note"]),
        ("resolved", ["note"]),
        ("truncated_max_alerts_2_of_8", ["repair", "repair"]),
    ],
)
def test_a_body_of_alertmanager_is_explained_alert_by_alert(name: str, decisions: list[str]) -> None:
    assert [one["decision"] for one in records(SAMPLES / "alertmanager" / f"{name}.json")] == decisions


def bodies_in(name: str) -> Any:
    return json.loads((SAMPLES / "bodies" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "decisions"),
    [
        ("A02-times", ["repair"] * 5),
        ("A03-ha-duplicates", ["repair"] * 2),
        ("A05-truncated-group", ["repair"] * 5),
        ("A06-watchdog-and-tests", ["note", "ignore", "repair"]),
        ("A11-value-is-not-the-xid", ["note"] * 3),
    ],
)
def test_bodies_that_broke_receivers_are_explained(tmp_path: Path, name: str, decisions: list[str]) -> None:
    told = bodies_in(name)
    if isinstance(told, dict) and "payload" in told:
        told = told["payload"]
    elif isinstance(told, dict) and "steps" in told:
        told = [step["post"] for step in told["steps"][:2]]
    assert [one["decision"] for one in records(write(tmp_path / "bodies.json", told))] == decisions


def test_many_codes_of_one_fault_are_each_explained_by_their_class(tmp_path: Path) -> None:
    told = records(write(tmp_path / "bodies.json", bodies_in("A14-many-xids-one-node")))
    answers = {one["code"]: one["decision"] for one in told}
    assert answers["xid-79"] == "repair"
    assert {code for code, decision in answers.items() if decision == "repair"}.isdisjoint({"xid-45", "xid-43"})


def test_an_application_fault_costs_no_node(tmp_path: Path) -> None:
    labels = [{"err_code": str(number), "node": "n"} for number in (13, 31, 43, 45, 68)]
    told = records(write(tmp_path / "body.json", body(*(alert(**one) for one in labels))))
    assert {(one["decision"], len(one["ladder"]), len(one["plan"])) for one in told} == {("note", 0, 0)}


@pytest.mark.parametrize(
    ("labels", "node", "decision"),
    [
        ({"Hostname": "n1"}, "n1", "repair"),
        ({"instance": "10.0.0.1:9400"}, "10.0.0.1:9400", "repair"),
        ({}, None, "note"),
        ({"Hostname": "", "node": "n2"}, "n2", "repair"),
    ],
)
def test_without_nodes_one_is_taken_as_named(
    tmp_path: Path, labels: dict[str, str], node: str | None, decision: str
) -> None:
    (told,) = records(write(tmp_path / "body.json", body(alert(**labels))))
    assert (told["node"], told["decision"]) == (node, decision)
    assert (node is not None) or told["reason"].endswith("No label names a node, so nothing is done to any.")


def node(name: str, *addresses: str, **labels: str) -> dict[str, Any]:
    present = {"nvidia.com/gpu.present": "true", **{key.replace("_", "/"): value for key, value in labels.items()}}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": present},
        "status": {"addresses": [{"type": "InternalIP", "address": address} for address in addresses]},
    }


@pytest.mark.parametrize(
    ("labels", "found", "decision", "reason"),
    [
        ({"instance": "10.0.0.1:9400"}, "gpu-1", "repair", ""),
        ({"Hostname": "GPU-1"}, "gpu-1", "repair", ""),
        ({"Hostname": "gpu-9"}, None, "note", "No node is known by Hostname='gpu-9', so nothing is done to any."),
        ({"Hostname": "gpu-1", "node": "gpu-2"}, None, "note", "The labels contradict each other"),
        ({"Hostname": "gpu-2"}, "gpu-2", "repair", "gpu-2 carries sickbay/exclude=true, so it is held until that"),
        ({"Hostname": "cpu-1"}, "cpu-1", "note", "cpu-1 is in no pool of the policy, so nothing is done to it."),
        ({"Hostname": "head"}, "head", "note", "head is a control-plane node, so nothing is done to it."),
        ({"Hostname": "head", "err_code": "31"}, "head", "note", "An application fault alone"),
    ],
)
def test_with_nodes_an_alert_has_to_name_exactly_one_of_a_pool(
    tmp_path: Path, labels: dict[str, str], found: str | None, decision: str, reason: str
) -> None:
    bare = {"metadata": {"name": "cpu-1"}}
    nodes = [
        *(node("gpu-1", "10.0.0.1"), node("gpu-2", sickbay_exclude="true"), bare),
        node("head", **{"node-role.kubernetes.io/control-plane": ""}),
    ]
    given = write(tmp_path / "nodes.json", {"kind": "List", "items": nodes})
    (told,) = records(write(tmp_path / "body.json", body(alert(**labels))), "--nodes", given)
    assert (told["node"], told["decision"]) == (found, decision)
    assert bool(told["plan"]) is (decision == "repair")
    assert reason in told["reason"]


def test_one_node_alone_is_a_list_of_nodes_too(tmp_path: Path) -> None:
    given = write(tmp_path / "node.json", node("gpu-1"))
    (told,) = records(write(tmp_path / "body.json", body(alert(Hostname="gpu-1"))), "--nodes", given)
    assert told["decision"] == "repair"


def test_what_cannot_be_read_spoils_no_other_alert(tmp_path: Path) -> None:
    odd = [None, {"status": "firing"}, alert(node="n1")]
    given = write(tmp_path / "bodies.json", [body(*odd), {"version": "4", "alerts": None}, body(alert(), version="9")])
    told = records(given)
    assert [one["decision"] for one in told] == ["refuse", "refuse", "repair", "refuse"]
    assert told[0]["reason"] == "An alert must be an object, not null."
    assert told[3]["reason"] == 'The message\'s version must be "4" or "1", not \'9\': web refuses all of it.'


def test_another_cluster_s_alert_is_ignored_and_one_without_the_label_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    policy_with(monkeypatch, tmp_path, ("  label: null", "  label: cluster"))
    given = body(alert(node="n", cluster="other"), alert(node="n"), alert(node="n", cluster="main"))
    told = records(write(tmp_path / "body.json", given))
    assert [one["decision"] for one in told] == ["ignore", "refuse", "repair"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give exactly one of --xid N, --line TEXT, --lines FILE or FILE."),
        (["--xid", "79", "--line", "x"], "Give exactly one of"),
        (["--xid", "0"], "Invalid value for '--xid'"),
        (["--xid", "seventy-nine"], "Invalid value for '--xid'"),
        (["absent.json"], "absent.json cannot be read"),
        (["--lines", "absent.log"], "absent.log cannot be read"),
        (["no.json"], "no.json is not JSON"),
        (["deep.json"], "deep.json is not JSON"),
        (["list.json"], "list.json holds no body of Alertmanager."),
        (["empty.json"], "empty.json holds no body of Alertmanager."),
        (["odd.json"], "odd.json holds no body of Alertmanager."),
        (["body.json", "--nodes", "list.json"], "list.json lists no nodes."),
        (["body.json", "--nodes", "empty.json"], "empty.json lists no nodes."),
        (["body.json", "--nodes", "nameless.json"], "nameless.json holds a node without a name."),
    ],
)
def test_what_cannot_be_answered_is_one_sentence_and_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    for name, told in {
        "list": [1],
        "empty": {},
        "odd": {"version": "4", "alerts": {}},
        "body": body(alert(node="n")),
        "nameless": {"items": [{"metadata": {}}]},
    }.items():
        write(tmp_path / f"{name}.json", told)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert sentence in result.stderr


def test_a_person_reads_the_chain_of_reasons(tmp_path: Path) -> None:
    given = write(tmp_path / "body.json", body(alert(Hostname="gpu-1", gpu="3", UUID=UUID)))
    assert run(given).stdout.splitlines() == [
        "alert GpuXid, firing",
        f"  fault     xid-79 on GPU 3 {UUID}, node gpu-1, pool gpu",
        "  class     reboot",
        "  why       Xid 79, GPU has fallen off the bus: class reboot.",
        "  ladder    reboot → power-cycle → ticket",
        f"  plan      {' → '.join(REBOOT)}",
        "  decision  repair (in mode act; pool gpu is in mode observe)",
    ]
    assert "  ladder    reset → reboot → ticket (the first waits until the node is idle)" in run("--xid", "63").stdout
    assert run("--line", "x" * 500).stdout.startswith("x" * 160 + "…\n  why       The line reports no error")
    assert run("--line", LOST).stdout.splitlines()[1] == "  fault     xid-79 at 0000:65:00, pool gpu"


def test_an_acting_pool_needs_no_remark_on_its_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    policy_with(
        monkeypatch, tmp_path, ("    mode: observe", "    mode: act"), ('benchmark_image: ""', "benchmark_image: n:1")
    )
    assert run("--xid", "79").stdout.endswith("  decision  repair\n")


def test_the_help_teaches_by_examples() -> None:
    told = run("--help").stdout
    assert "\n    sickbay explain --xid 79\n" in told
    assert "dmesg | sickbay explain --lines -" in told
