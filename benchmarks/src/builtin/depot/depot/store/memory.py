"""A store that forgets."""

from .base import BaseStore, StoreError


class MemoryStore(BaseStore):
    """Keeps parcels in a dictionary."""

    def __init__(self):
        self.records = {}

    def load(self, number):
        self.check(number)
        if number not in self.records:
            raise StoreError(f"there is no parcel {number}")
        return self.restore(self.records[number])

    def save(self, parcel):
        self.records[parcel.number] = parcel.save()

    def numbers(self):
        return sorted(self.records)

    def find(self, wanted):
        found = super().find(wanted)
        return list(found)
