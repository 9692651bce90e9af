"""Depot keeps track of parcels, from the counter to the door."""

from .model import Parcel, Route
from .store import open_store

__all__ = ["Parcel", "Route", "open_store"]
__version__ = "1.4.0"
