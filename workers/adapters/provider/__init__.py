"""Who provides machines: one file a backend, and one line in `workers.wiring`."""
