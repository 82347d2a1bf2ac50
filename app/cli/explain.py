"""`sickbay explain`: what would be done about an alert, an Xid or a kernel log line, and why. Nothing is touched.

It decides by the policy of SICKBAY_POLICY and the shipped catalogues, with no store and no cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from app.cli.tool_output import read_text
from app.domain import kernel_lines
from app.domain.alerts import UnreadableAlertError, read_alert
from app.domain.explanations import Explanation, explain_alert, explain_finding, explain_xid
from app.domain.kernel_lines import KernelTables
from app.domain.placement import Inventory, KnownNode
from app.domain.policies import Mode, Policy
from app.domain.triage import Decision
from app.domain.xid_texts import GRAVITY
from app.errors import SickbayError
from app.kernel_files import load_kernel_tables
from app.policy_file import load_policy
from app.settings import Settings

CONFIG: Final = Path(__file__).parents[2] / "config"
VERSIONS: Final = ("4", "1")
"""What web takes: Alertmanager's, and that of Grafana's superset."""
_SHOWN: Final = 160

_FILE = click.Path(path_type=Path, allow_dash=True)


@click.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--xid", type=click.IntRange(1, 999_999_999), metavar="N", help="Explain the number alone.")
@click.option("--line", metavar="TEXT", help="Explain a line of the kernel log.")
@click.option("--lines", type=_FILE, metavar="FILE", help="Explain each line of a kernel log.")
@click.option("--nodes", type=_FILE, metavar="FILE", help="The nodes: output of `kubectl get nodes -o json`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line: JSON Lines.")
def command(
    file: Path | None, *, xid: int | None, line: str | None, lines: Path | None, nodes: Path | None, as_json: bool
) -> None:
    """Tell what Sickbay would do, and why: alert, fault, class, ladder, plan.

    FILE holds the body of an Alertmanager webhook, or a list of bodies (- reads standard input). In place of it, ask
    about one Xid or about lines of the kernel log:

    \b
      sickbay explain --xid 79
      sickbay explain --line 'NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.'
      dmesg | sickbay explain --lines -
      sickbay explain --nodes nodes.json body.json

    Decisions are those of mode act by the policy of SICKBAY_POLICY, each by itself: what is open, was tried before or
    is over a limit is not known here, and nothing is touched. Without --nodes a node is taken as named, in the first
    pool of the policy; with it an alert needs to name one of them. An Xid or a line names no node.

    A line that is cut, or contradicts itself, is of class unknown and only noted, as is every number that nobody
    published what to do about.

    Ends with 0, and with 3 when something cannot be read.
    """  # noqa: D301 - click knows a paragraph that it must not wrap by this character
    given = [one for one in (file, xid, line, lines) if one is not None]
    if len(given) != 1:
        raise click.UsageError("Give exactly one of --xid N, --line TEXT, --lines FILE or FILE.")
    policy = load_policy(Settings.from_environment().policy)
    tables = load_kernel_tables(CONFIG)
    now = datetime.now(UTC)
    inventory = None if nodes is None else _inventory(nodes)
    explained: Iterable[Explanation]
    if xid is not None:
        explained = (explain_xid(xid, policy, tables.xids, now),)
    elif file is not None:
        explained = _alerts(file, policy, tables, inventory, now)
    else:
        explained = _lines(read_text(lines) if lines is not None else str(line), policy, tables, now)
    for one in explained:
        told = json.dumps(_record(one)) if as_json else _as_text(one)
        click.echo(told.encode("utf-8", "replace").decode())


def _lines(text: str, policy: Policy, tables: KernelTables, now: datetime) -> Iterator[Explanation]:
    cards = kernel_lines.cards_in(text)
    for line in text.splitlines():
        if not line.strip():
            continue
        findings = kernel_lines.join_cards(kernel_lines.read_text(line, tables), cards)
        if findings:
            # Lines that were glued together are one line here: the gravest of them counts.
            gravest = max(findings, key=lambda finding: GRAVITY.index(finding.class_))
            told = explain_finding(gravest, policy, tables, now)
        else:
            reason = "The line reports no error of an NVIDIA GPU or switch."
            told = Explanation(told=line, decision=Decision.IGNORE, reason=reason)
        yield replace(told, told=line.strip())


def _alerts(
    file: Path, policy: Policy, tables: KernelTables, inventory: Inventory | None, now: datetime
) -> Iterator[Explanation]:
    told = _parsed(file)
    for body in told if isinstance(told, list) else [told]:
        alerts = body.get("alerts") if isinstance(body, Mapping) else None
        if not isinstance(body, Mapping) or "alerts" not in body or not isinstance(alerts, list | None):
            raise SickbayError(f"{file} holds no body of Alertmanager. Name a file with one, or with a list of them.")
        version = body.get("version")
        for raw in alerts or ():
            if version not in VERSIONS:
                reason = f'The message\'s version must be "4" or "1", not {version!r:.40}: web refuses all of it.'
                yield Explanation(told="alert", decision=Decision.REFUSE, reason=reason)
                continue
            try:
                alert = read_alert(raw, received_at=now)
            except UnreadableAlertError as error:
                yield Explanation(told="alert", decision=Decision.REFUSE, reason=f"{str(error).capitalize()}.")
                continue
            yield explain_alert(alert, policy, tables.xids, inventory, now)


def _inventory(file: Path) -> Inventory:
    told = _parsed(file)
    items = told.get("items", [told] if told.get("kind") == "Node" else None) if isinstance(told, Mapping) else None
    if not isinstance(items, list):
        raise SickbayError(f"{file} lists no nodes. Make it with `kubectl get nodes -o json`.")
    try:
        return Inventory(nodes=tuple(_node(item) for item in items))
    except (AttributeError, KeyError, TypeError) as error:
        raise SickbayError(f"{file} holds a node without a name. Make it with `kubectl get nodes -o json`.") from error


def _node(item: Any) -> KnownNode:
    metadata = item["metadata"]
    addresses = (item.get("status") or {}).get("addresses") or []
    labels = metadata.get("labels") or {}
    return KnownNode(
        name=str(metadata["name"]),
        uid=str(metadata.get("uid", "")),
        addresses=tuple(str(address["address"]) for address in addresses),
        labels={str(name): str(value) for name, value in labels.items()},
    )


def _parsed(file: Path) -> Any:
    try:
        return json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise SickbayError(f"{file} is not JSON ({error}). Name a file with JSON.") from error


def _record(one: Explanation) -> dict[str, object]:
    gpu = None
    if one.gpu is not None or (one.pci and one.xid is not None):
        known = one.gpu
        gpu = {
            "serial": known.serial if known else None,
            "uuid": known.uuid if known else None,
            "index": known.index if known else None,
            "pci": one.pci or None,
        }
    return {
        "decision": one.decision,
        "code": one.code,
        "xid": one.xid,
        "gpu": gpu,
        "node": one.node,
        "ladder": [rung.rung for rung in one.ladder],
        "plan": list(one.plan),
        "reason": one.reason,
    }


def _as_text(one: Explanation) -> str:
    shown = one.told if len(one.told) <= _SHOWN else f"{one.told[:_SHOWN]}…"
    rows = [("fault", _fault(one))] if one.code else []
    if one.class_ is not None:
        rows.append(("class", one.class_))
    rows.append(("why", one.reason))
    if one.decision is Decision.REPAIR:
        waits = "" if not one.ladder or one.ladder[0].when == "now" else " (the first waits until the node is idle)"
        rows.append(("ladder", f"{' → '.join(rung.rung for rung in one.ladder) or 'none: a person is asked'}{waits}"))
        rows.append(("plan", " → ".join(one.plan)))
    mode = one.pool.mode if one.pool is not None else Mode.ACT
    less = f" (in mode act; pool {one.pool.name} is in mode {mode})" if one.pool and mode is not Mode.ACT else ""
    rows.append(("decision", f"{one.decision}{less if one.decision is Decision.REPAIR else ''}"))
    return "\n".join((shown, *(f"  {name:<9} {text}" for name, text in rows)))


def _fault(one: Explanation) -> str:
    card = f" on {one.gpu}" if one.gpu else ""
    card += f" {one.gpu.uuid}" if one.gpu and one.gpu.uuid else ""
    at = f" at {one.pci}" if one.pci else ""
    where = f", node {one.node}" if one.node else ""
    pool = f", pool {one.pool.name}" if one.pool else ""
    return f"{one.code}{card}{at}{where}{pool}"
