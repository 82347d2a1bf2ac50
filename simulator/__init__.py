"""A simulated GPU cluster: four nodes with eight H100s each, behind the Kubernetes API over HTTP.

`simulator.api` is the server, `simulator.actors` are the kubelet, the controllers and the workloads, which know the
cluster only through that server. `simulator.cluster.start` puts both together; `simulator.valkey` embeds a Valkey.
It is for demos, tests and benches; it imports nothing of Sickbay, so that both can be wrong in different ways only.
"""
