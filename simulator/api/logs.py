"""Pod logs: the API server has none of its own and asks the kubelet of the pod's node, as the real one does."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import urllib3

from simulator.api.kinds import NODES, PODS
from simulator.api.statuses import Refused, bad_request
from simulator.api.store import Key, Store
from simulator.api.writes import existing

_PASSED_ON = ("tailLines", "limitBytes", "previous", "timestamps")


class KubeletLogs:
    """Fetches logs over HTTP from 127.0.0.1, where every simulated kubelet listens, at the port that the node names."""

    def __init__(self) -> None:
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=2, read=30), maxsize=8)

    def read(self, store: Store, key: Key, query: Mapping[str, str]) -> bytes:
        """The log of one container as text.

        Raises:
            Refused: 400 (no such container, not started), 404 (no such pod) or 500 (the kubelet does not answer).
        """
        pod = existing(store, PODS, key).object
        containers = [container["name"] for container in pod["spec"]["containers"]]
        name = query.get("container") or containers[0]
        if not query.get("container") and len(containers) > 1:
            raise bad_request(f"a container name must be specified for pod {key[1]}, choose one of: {containers}")
        if name not in containers:
            raise bad_request(f"container {name} is not valid for pod {key[1]}")
        node = store.get(NODES, ("", pod["spec"].get("nodeName", "")))
        if node is None:
            return b""  # As the real server answers for a pod without a node.
        status = node.object.get("status") or {}
        port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port", 10250)
        passed = urlencode({part: query[part] for part in _PASSED_ON if part in query})
        url = f"http://127.0.0.1:{port}/containerLogs/{key[0]}/{key[1]}/{name}?{passed}"
        try:
            answer = self._http.request("GET", url)
        except urllib3.exceptions.HTTPError as wrong:
            raise Refused(500, "InternalError", f'Get "{url}": {wrong}') from wrong
        if answer.status == 400:
            raise bad_request(answer.data.decode(errors="replace"))
        if answer.status != 200:
            raise Refused(answer.status, "NotFound" if answer.status == 404 else "InternalError", answer.data.decode())
        return answer.data

    def close(self) -> None:
        """Closes the kept connections."""
        self._http.clear()
