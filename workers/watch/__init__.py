"""What the cluster tells, turned into nudges: pure differences, and the streams that feed them."""
