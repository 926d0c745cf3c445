"""Generators of the pages in ``docs`` that come from tables and docstrings."""
