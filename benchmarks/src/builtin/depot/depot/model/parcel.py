"""Parcels and what may happen to them."""

import enum
import itertools

from ..config import UNITS

HEAVIEST = 31_500
LABEL_WIDTH = 24

_numbers = itertools.count(1)


class ParcelState(enum.Enum):
    """Where a parcel is in its life."""

    ACCEPTED = "accepted"
    SORTED = "sorted"
    LOADED = "loaded"
    DELIVERED = "delivered"
    RETURNED = "returned"


#: What may follow each state.
FOLLOWING = {
    ParcelState.ACCEPTED: {ParcelState.SORTED, ParcelState.RETURNED},
    ParcelState.SORTED: {ParcelState.LOADED, ParcelState.RETURNED},
    ParcelState.LOADED: {ParcelState.DELIVERED, ParcelState.RETURNED},
    ParcelState.DELIVERED: set(),
    ParcelState.RETURNED: set(),
}


class WrongMove(ValueError):
    """A parcel cannot go from one state to another."""


def to_grams(amount, unit="g"):
    """Converts a weight; raises KeyError for units that the depot does not know."""
    return round(amount * UNITS[unit])


class Parcel:
    """One parcel."""

    def __init__(self, address, weight, unit="g"):
        self.number = next(_numbers)
        self.address = address
        self.grams = to_grams(weight, unit)
        self.state = ParcelState.ACCEPTED
        self.history = [self.state]

    @classmethod
    def load(cls, record):
        """Makes a parcel of a stored record."""
        parcel = cls(record["address"], record["grams"])
        parcel.number = record["number"]
        parcel.state = ParcelState(record["state"])
        return parcel

    def save(self):
        return {
            "number": self.number,
            "address": self.address,
            "grams": self.grams,
            "state": self.state.value,
        }

    def move(self, state):
        """Brings the parcel into another state."""
        if state not in FOLLOWING[self.state]:
            raise WrongMove(f"{self.number}: {self.state.value} to {state.value}")
        self.state = state
        self.history.append(state)

    def is_heavy(self):
        return self.grams > HEAVIEST

    def label(self):
        """Returns the text of the label, cut to its width."""
        lines = []
        for line in self.address.splitlines():
            lines.append(line[:LABEL_WIDTH])
        lines.append(f"{self.grams} g")
        return "\n".join(lines)
