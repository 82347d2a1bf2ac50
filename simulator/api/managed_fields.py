"""metadata.managedFields of nodes: who last set which field, and when, as far as a reader of a cordon needs it.

Lists are taken as one field; the real server goes into those with keys. A field that is taken away has no owner, here
as there: who uncordoned a node is in no object, only in the audit.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
_TRACKED = ("labels", "annotations")


def managed(old: Object, new: Object, manager: str, at: str, api_version: str) -> list[Object]:
    """The managedFields of `new` after `manager` wrote it in the place of `old`."""
    before, after = _leaves(old), _leaves(new)
    changed = {path for path, value in after.items() if before.get(path) != value}
    entries = []
    owned: set[tuple[str, ...]] = set(changed)
    for entry in old["metadata"].get("managedFields") or []:
        paths = {path for path in _paths(entry["fieldsV1"]) if path in after and path not in changed}
        if entry["manager"] == manager:
            owned |= paths
        elif paths:
            entries.append({**entry, "fieldsV1": _tree(paths)})
    if owned:
        entries.append(
            {
                "manager": manager,
                "operation": "Update",
                "apiVersion": api_version,
                "time": at,
                "fieldsType": "FieldsV1",
                "fieldsV1": _tree(owned),
            }
        )
    return entries


def _leaves(an_object: Object) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {("spec", key): value for key, value in (an_object.get("spec") or {}).items()}
    for part in _TRACKED:
        for key, value in (an_object["metadata"].get(part) or {}).items():
            found["metadata", part, key] = value
    return found


def _tree(paths: set[tuple[str, ...]]) -> Object:
    tree: Object = {}
    for path in sorted(paths):
        branch = tree
        for step in path:
            branch = branch.setdefault(f"f:{step}", {})
    return tree


def _paths(tree: Object, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for key, branch in tree.items():
        path = (*above, key.removeprefix("f:"))
        found |= _paths(branch, path) if branch else {path}
    return found
