"""Client-metrics subscriptions: which metrics clients push to the brokers (KIP-714)."""
