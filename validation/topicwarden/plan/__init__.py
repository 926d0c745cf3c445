"""The consequences of a change for live data, before it is deployed."""
