"""Planning of routes."""

from .nearest import plan
