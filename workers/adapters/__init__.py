"""The world behind the ports. Only `workers.wiring` imports these."""
