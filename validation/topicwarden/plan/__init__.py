"""Predicts the consequences of a change for live data, before the change is deployed."""
