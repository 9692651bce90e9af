"""Talking to other depots."""
