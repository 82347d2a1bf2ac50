"""How gunicorn runs the web process. `sickbay web` reads this file and adds the address from SICKBAY_BIND."""
# ruff: noqa: INP001 - gunicorn loads this file by its path

from pathlib import Path

# One process with threads: the receiver's counters live in it, and one process answers far more than Alertmanager
# sends. For more, run more replicas.
worker_class = "gthread"
workers = 1
threads = 16

# Seconds. A thread may wait some for a store that restarts; the process itself must never be silent for so long.
timeout = 60
# Seconds that open requests get at SIGTERM. Keep it below the pod's terminationGracePeriodSeconds.
graceful_timeout = 20
# Seconds. Alertmanager and Prometheus reuse their connections; a proxy's own idle limit should be below it.
keepalive = 75

# Connections that wait for a thread beyond this are refused, and Alertmanager comes again.
backlog = 512

# Bytes and numbers of headers; bodies have their own limit in the application.
limit_request_line = 4094
limit_request_fields = 64

# Every alert and order is logged by the application; a line for each poll of a page would only hide them.
accesslog = None
logger_class = "app.web.gunicorn_logs.Propagating"

# Workers beat on a file: in memory, so that a slow disk never makes a healthy process look hung.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a private, unlinked file in it

# A socket by which gunicorn could be reconfigured at run time: nothing here needs one, and a read-only container has
# no place for it.
control_socket_disable = True
