"""metadata.managedFields of nodes: who last set which field, and when, as far as a reader of a cordon needs it.

Lists are taken as one field; the real server goes into those with keys. A field that is taken away has no owner, here
as there: who uncordoned a node is in no object, only in the audit.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
Path = tuple[str, ...]
_TRACKED: tuple[Path, ...] = (("spec",), ("metadata", "labels"), ("metadata", "annotations"))


def managed(old: Object, new: Object, writer: str, at: str, api_version: str) -> list[Object]:
    """The managedFields of `new` after `writer` wrote it in the place of `old`."""
    changed, gone = _differences(old, new)
    entries = []
    owned: Object = {}
    for entry in old["metadata"].get("managedFields") or []:
        fields = entry["fieldsV1"]
        for path in gone if entry["manager"] == writer else gone + changed:
            fields = _without(fields, path)
        if entry["manager"] == writer:
            owned = fields
        elif fields:
            entries.append({**entry, "fieldsV1": fields})
    for path in changed:
        owned = _with(owned, path)
    if owned:
        about = {"manager": writer, "operation": "Update", "apiVersion": api_version, "time": at}
        entries.append({**about, "fieldsType": "FieldsV1", "fieldsV1": owned})
    return entries


def _differences(old: Object, new: Object) -> tuple[list[Path], list[Path]]:
    """The paths whose values are new or other, and those that are gone."""
    changed: list[Path] = []
    gone: list[Path] = []
    for part in _TRACKED:
        before, after = _at(old, part), _at(new, part)
        if before is after:
            continue
        changed += [(*part, key) for key, value in after.items() if key not in before or before[key] != value]
        gone += [(*part, key) for key in before if key not in after]
    return changed, gone


def _at(an_object: Object, part: Path) -> Object:
    found = an_object
    for step in part:
        found = found.get(step) or _NOTHING
    return found


def _with(tree: Object, path: Path) -> Object:
    if not path:
        return tree
    step = f"f:{path[0]}"
    return {**tree, step: _with(tree.get(step) or {}, path[1:])}


def _without(tree: Object, path: Path) -> Object:
    step = f"f:{path[0]}"
    if step not in tree:
        return tree
    branch = _without(tree[step], path[1:]) if len(path) > 1 else {}
    if branch:
        return {**tree, step: branch}
    return {key: value for key, value in tree.items() if key != step}


_NOTHING: Object = {}
