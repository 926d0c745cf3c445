"""Connections to a cluster: settings of clients, TLS, SASL, retries."""
