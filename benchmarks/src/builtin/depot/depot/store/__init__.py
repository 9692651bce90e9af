"""Where parcels are kept between runs."""

from .base import BaseStore, StoreError
from .disk import DiskStore
from .memory import MemoryStore as QuickStore


def open_store(place=None):
    """Opens the store at a place; without one it lasts as long as the process."""
    if place is None:
        return QuickStore()
    return DiskStore(place)


__all__ = ["BaseStore", "DiskStore", "QuickStore", "StoreError", "open_store"]
