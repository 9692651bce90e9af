"""What every store can do."""

from ..model.parcel import Parcel

BATCH = 50


class StoreError(Exception):
    """A store cannot be read or written."""


class BaseStore:
    """Keeps parcels by their numbers."""

    def load(self, number):
        raise NotImplementedError

    def save(self, parcel):
        raise NotImplementedError

    def numbers(self):
        raise NotImplementedError

    def find(self, wanted):
        """Yields the parcels that a function accepts."""
        for number in self.numbers():
            parcel = self.load(number)
            if wanted(parcel):
                yield parcel

    def batches(self):
        """Yields all parcels in lists of at most BATCH."""
        batch = []
        for number in self.numbers():
            batch.append(self.load(number))
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def restore(self, record):
        return Parcel.load(record)

    def check(self, number):
        if number < 1:
            raise StoreError(f"{number} is no number of a parcel")

    def close(self):
        """Ends the use of the store."""
