"""Where the replicas of a topic belong, and what it costs to move them."""
