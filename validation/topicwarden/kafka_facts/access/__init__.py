"""The roles of applications, Kafka's authorizer as a model, and what a change of access does to those who use it."""
