"""What a route costs."""

from ..model import parcel as parcels
from ..model.route import NightRoute

PER_KILOMETRE = 0.42
PER_HOUR = 21.5
HEAVY_FEE = 3.0


class Tariff:
    """Prices that a customer has agreed to."""

    def __init__(self, per_kilometre=PER_KILOMETRE, per_hour=PER_HOUR):
        self.per_kilometre = per_kilometre
        self.per_hour = per_hour

    @classmethod
    def load(cls, config):
        """Reads a tariff out of settings."""
        return cls(
            config.number("per_kilometre", PER_KILOMETRE),
            config.number("per_hour", PER_HOUR),
        )

    @classmethod
    def standard(cls):
        return cls()

    def price(self, route):
        total = route.length() * self.per_kilometre
        total += route.hours() * self.per_hour
        for parcel in route.parcels():
            if parcel.is_heavy():
                total += HEAVY_FEE
        return round(total, 2)


def price(route, tariff=None):
    """Returns the price of a route."""
    tariff = tariff or Tariff.standard()
    total = tariff.price(route)
    if isinstance(route, NightRoute):
        total *= 1.1
    return round(total, 2)


def overweight(grams):
    """Returns by how much a weight is above the limit."""
    return max(0, grams - parcels.HEAVIEST)
