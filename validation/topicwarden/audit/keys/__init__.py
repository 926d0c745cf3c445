"""Find out which partitioner placed the keys of a topic."""
