"""What the cluster reports about itself: offsets, horizons, internal topics and consumer groups."""
