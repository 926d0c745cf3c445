"""Collect what the cluster reports: offsets, horizons, internal topics and consumer groups."""
