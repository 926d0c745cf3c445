"""The official ``pulumi-resource-kafka``, with which tests compare topicwarden's own provider."""
