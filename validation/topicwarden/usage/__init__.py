"""The use of topics: observations of the cluster, the history of these, and what the declared access explains."""
