"""Routes of vans, stop after stop."""

import math

from .parcel import Parcel, ParcelState

CAPACITY = 120
SPEED = 40.0


class Stop:
    """A place where a van halts."""

    def __init__(self, name, x, y):
        self.name = name
        self.x = x
        self.y = y
        self.parcels = []

    def distance(self, other):
        return math.hypot(self.x - other.x, self.y - other.y)

    def load(self, parcel):
        """Puts a parcel on the list of this stop."""
        parcel.move(ParcelState.LOADED)
        self.parcels.append(parcel)


class Route:
    """An ordered list of stops."""

    def __init__(self, stops=()):
        self.stops = list(stops)

    def length(self):
        total = 0.0
        for here, there in zip(self.stops, self.stops[1:]):
            total += here.distance(there)
        return total

    def hours(self):
        return self.length() / SPEED

    def parcels(self):
        for stop in self.stops:
            yield from stop.parcels

    def has_room(self):
        return sum(1 for _ in self.parcels()) < CAPACITY

    def describe(self):
        names = " - ".join(stop.name for stop in self.stops)
        return f"{names} ({self.length():.1f} km)"


class NightRoute(Route):
    """A route when the streets are empty."""

    def hours(self):
        return super().hours() * 0.8

    def describe(self):
        return "by night: " + super().describe()


def merge(first, second):
    """Joins two routes; the second begins where the first ends."""
    if not first.stops or not second.stops:
        return Route(first.stops + second.stops)
    if first.stops[-1] is second.stops[0]:
        return Route(first.stops + second.stops[1:])
    return Route(first.stops + second.stops)
