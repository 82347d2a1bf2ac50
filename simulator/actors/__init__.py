"""The parties of the simulated cluster: each knows the others only through the Kubernetes API.

The hardware is the exception on purpose: it is the machine under the kubelet and no part of the cluster.
"""
