"""Computations that several checks share."""
