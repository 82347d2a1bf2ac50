"""`sickbay check-config`, run as a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import root
from tests.policy.test_good_files import FULL, SMALLEST

WIDE = {"COLUMNS": "200"}


def check(path: Path, **environment: str) -> Result:
    return CliRunner(env={**WIDE, **environment}).invoke(root, ["check-config", str(path)])


def row(result: Result, first: str) -> str:
    """The second cell of the table's row with this first cell."""
    (line,) = [line for line in result.output.splitlines() if line.startswith(f"│ {first} ")]
    return line.split("│")[2].strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(SMALLEST)
    return path


def test_a_good_file_is_shown_and_ends_with_0(path: Path) -> None:
    result = check(path)
    assert result.exit_code == 0, result.output
    assert row(result, "mode") == "observe"
    assert row(result, "nodes") == "gpu=true"
    assert row(result, "rungs") == "restart-plugin, reset, reboot, ticket"
    assert row(result, "drain") == "waits for marked pods, evicts others, asks before anything is lost"
    assert row(result, "probation") == "for 1d no rung again for a card, nor a milder one"
    assert "Out at once: 20 cordoned, 3 disrupted, 10 with a vendor." in result.output
    assert "How fast: 20 cordoned within 10m." in result.output
    assert result.output.splitlines()[-1] == f"{path} is good."


def test_the_rules_of_a_drain_are_told_in_words_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(FULL)
    told = " ".join(check(path).output.replace("│", " ").split())

    assert "canary: namespaces team-*, scratch and track=canary: delete after 30m, losing bare-pods" in told
    assert "batch: namespaces team-*: wait rest: every pod: as-marked, losing local-data all others: waits" in told


def test_ladders_are_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(FULL)
    result = check(path)
    assert row(result, "xid-999") == "cordon, drain → reboot and validate → else ask a person"
    assert row(result, "xid-43") == "cordon, drain → ask a person"
    assert row(result, "xid-79") == "only noted"
    assert row(result, "Xids of class application") == "only noted"


@pytest.mark.parametrize(
    ("ladder", "told"),
    [
        (
            "[reset, reboot, ticket]",
            "cordon, drain → reset and validate → reboot and validate → ticket and validate → else ask a person",
        ),
        (
            "[{rung: reset, when: idle, deadline: 36h}]",
            "wait until idle (1d12h, then ask a person) → cordon, drain → reset and validate → else ask a person",
        ),
        (
            "[{rung: reboot, when: idle, then: drain}]",
            "wait until idle (1d, then go on all the same) → cordon, drain → reboot and validate → else ask a person",
        ),
        (
            "[restart-plugin, reset]",
            "cordon → restart-plugin and validate → drain, reset and validate → else ask a person",
        ),
        (
            "[reboot, power-cycle]",
            "cordon, drain → reboot and validate → power-cycle (passed over: no pool has it) → else ask a person",
        ),
        ("[]", "cordon, drain → ask a person"),
        ("null", "only noted"),
    ],
)
def test_each_rung_of_a_ladder_is_told_with_what_it_waits_for(path: Path, ladder: str, told: str) -> None:
    tickets = "tickets: {system: file, directory: /t}\n"
    path.write_text(SMALLEST.replace("ladders: {}", f"ladders: {{reset: {ladder}}}") + tickets)
    assert row(check(path), "Xids of class reset") == told


def test_without_a_ticket_system_the_rung_ticket_is_told_as_asking(path: Path) -> None:
    path.write_text(SMALLEST.replace("ladders: {}", "ladders: {isolate: [ticket]}"))
    told = "cordon, drain → ask a person, since no ticket can be opened"
    assert row(check(path), "Xids of class isolate") == told
    assert row(check(path), "tickets") == "none are opened: at the rung ticket a person is asked"


@pytest.mark.parametrize(
    ("written", "warned"),
    [
        (
            "ladders: {isolate: [ticket]}",
            "7: ladders.isolate[0]: {}.",
        ),
        (
            "faults: {xid-79: [reboot, ticket], xid-64: [ticket]}\nladders: {isolate: [ticket]}",
            "8: ladders.isolate[0]: {}, here and on 2 other ladders.",
        ),
        ("ladders: {isolate: []}", None),
        ("ladders: {isolate: [ticket]}\ntickets: {system: file, directory: /t}", None),
    ],
)
def test_a_ticket_rung_without_a_ticket_system_is_warned_of_with_its_line(
    path: Path, written: str, warned: str | None
) -> None:
    path.write_text("# what it is for\n\n\n" + SMALLEST.replace("ladders: {}", written))
    result = check(path)
    told = [line for line in result.output.splitlines() if line.startswith("warning:")]
    asks = "No ticket can be opened: at this rung a person is asked"
    remedy = "Set `tickets.system`, or take `ticket` off the ladders."
    assert told == ([] if warned is None else [f"warning: {path}:{warned.format(asks)} {remedy}"])
    assert result.exit_code == 0


def test_a_ticket_rung_that_no_pool_may_take_is_not_warned_of(path: Path) -> None:
    pool = 'gpu: "true"}, capabilities: [reset], ladders: {reset: [ticket]}'
    path.write_text(SMALLEST.replace('gpu: "true"}', pool).replace("ladders: {}", "ladders: {isolate: [ticket]}"))
    assert "warning" not in check(path).output


def test_a_ticket_rung_in_a_pool_is_warned_of_there(path: Path) -> None:
    path.write_text(SMALLEST.replace('gpu: "true"}', 'gpu: "true"}, ladders: {isolate: [reset, ticket]}'))
    assert f"warning: {path}:3: pools[0].ladders.isolate[1]: No ticket can be opened" in check(path).output


def test_what_a_pool_has_of_its_own_is_told_with_it(path: Path) -> None:
    own = "capabilities: [reset], ladders: {reset: [reset, reboot]}, faults: {xid-94: null}"
    path.write_text(SMALLEST.replace('gpu: "true"}', f'gpu: "true"}}, {own}'))
    result = check(path)
    assert row(result, "rungs") == "reset"
    assert row(result, "xid-94") == "only noted"
    told = "cordon, drain → reset and validate → reboot (passed over: no pool has it) → else ask a person"
    assert row(result, "class reset") == told


def test_a_pool_without_rungs_is_told_as_asking(path: Path) -> None:
    path.write_text(SMALLEST.replace('gpu: "true"}', 'gpu: "true"}, capabilities: []'))
    assert row(check(path), "rungs") == "none, so a person is asked"


def test_the_limits_are_told(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(FULL)
    result = check(path)
    limits = ("repairs", "probation", "breaker", "offenders", "tickets", "power", "provider", "lower modes")
    assert {limit: row(result, limit) for limit in limits} == {
        "repairs": "1 of a node and 50 of a card within 30d",
        "probation": "none",
        "breaker": "trips when more than 100% of the nodes (at least 1, at most 99999) fall ill within 12h",
        "offenders": "from 0.5 within 1m, weighing xid-79 2, reset 0.25, note 0, application 0",
        "tickets": "webhook, https://tickets.example:8443/gpu; looked at every 1s, with the names of pods",
        "power": "http://bmc/cycle",
        "provider": "http://[fd00::1]:80",
        "lower modes": "xid-94: at most cordon",
    }
    assert "│ own acts    │ reset: xid-43, xid-119" in result.output


def test_limits_that_are_off_are_told_as_such(path: Path) -> None:
    path.write_text(SMALLEST + "offenders: {weights: {}}\ntickets: {system: file, directory: /var/tickets}\n")
    result = check(path)
    assert row(result, "offenders") == "none, since nothing weighs"
    assert row(result, "tickets") == "file, /var/tickets; looked at every 5m, without the names of pods"
    assert {row(result, name) for name in ("power", "provider", "lower modes", "own acts")} == {"none"}


def test_a_mode_that_the_environment_lowers_is_told_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        FULL.replace('  - name: rest\n    selector: {nvidia.com/gpu.present: "true"}\n    validation: *strict\n', "")
    )
    assert row(check(path), "mode") == "act"
    assert row(check(path, SICKBAY_MODE="cordon"), "mode") == "cordon (SICKBAY_MODE; the file says act)"


def test_each_mistake_is_a_line_and_the_end_is_1(path: Path) -> None:
    path.write_text(SMALLEST.replace("main", "1").replace("ladders: {}", "ladders: {reset: [rebot]}"))
    result = check(path)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f'{path}:1: cluster.name: YAML reads 1 as a number, not as a text. Put it in quotes: "1".',
        f"{path}:4: ladders.reset[0]: 'rebot' is no rung. Did you mean `reboot`?",
    ]


def test_an_absent_file_is_told_and_the_end_is_1(tmp_path: Path) -> None:
    result = check(tmp_path / "absent.yaml")
    assert result.exit_code == 1
    assert "The policy cannot be read (No such file or directory)." in result.output


def test_without_a_file_the_one_of_the_environment_is_checked(path: Path) -> None:
    result = CliRunner(env={**WIDE, "SICKBAY_POLICY": str(path)}).invoke(root, ["check-config"])
    assert result.output.endswith(f"{path} is good.\n")


def test_a_name_cannot_write_markup_to_the_terminal(path: Path) -> None:
    path.write_text(SMALLEST.replace("name: main", 'name: "[red]main[/red]"'))
    assert "Cluster [red]main[/red]," in check(path).output
