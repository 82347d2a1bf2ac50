"""Watching the cluster: what changes there is turned into nudges, and into the inventory that alerts are placed by.

A nudge is a hint that one operation should be looked at. Missing one costs time and nothing else.
"""
