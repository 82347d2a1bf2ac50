"""What feeds the machines: one file a backend, and one line in `workers.wiring`."""
