"""Bundles of the functions, as they are deployed."""
