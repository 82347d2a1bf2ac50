"""The HTTP server that speaks the part of the Kubernetes API that a node remediation service uses."""
