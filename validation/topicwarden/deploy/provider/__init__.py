"""The resource provider ``pulumi-resource-kafka``: the types of ``pulumi-kafka``, with requests in batches.

It runs as a process of its own, which Pulumi's engine starts and calls over gRPC (``ResourceProvider`` in Pulumi's
``provider.proto``). Inputs, outputs and ids are those of the official provider, so a stack can change between both.
"""
