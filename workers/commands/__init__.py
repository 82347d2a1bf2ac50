"""The commands that run in the cluster: worker and watch."""
