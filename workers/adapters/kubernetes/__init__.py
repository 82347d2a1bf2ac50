"""Kubernetes behind the ports of `workers.ports`: the only place that speaks to an API server.

The official client gives transport and authentication; bodies are decoded into narrow structs of our own, since its
models cost seven times as much time and break on lists that are null.
"""
