"""Tables for people."""

from collections import Counter

from depot.model import ParcelState
from depot.model.parcel import LABEL_WIDTH
from depot.plan.cost import Tariff, price as route_price
from depot.plan.nearest import plan_tour

HEADER = ("parcel", "state", "weight")


def row(parcel):
    return (str(parcel.number), parcel.state.value, f"{parcel.grams} g")


def table(parcels):
    """Returns a table with aligned columns."""
    rows = [HEADER] + [row(parcel) for parcel in parcels]
    widths = [max(len(cells[n]) for cells in rows) for n in range(len(HEADER))]
    lines = []
    for cells in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths))
        lines.append(line.rstrip())
    return "\n".join(lines)


def summary(parcels):
    """Counts parcels by state, in the order of their lives."""
    counts = Counter(parcel.state for parcel in parcels)
    lines = []
    for state in ParcelState:
        if counts[state]:
            lines.append(f"{state.value}: {counts[state]}")
    return "\n".join(lines)


def short(text, width=LABEL_WIDTH):
    """Cuts a text, with dots at the end where something is missing."""
    if len(text) <= width:
        return text
    return text[: width - 3] + "..."


def tour_report(depot, stops, config):
    """Describes a tour and its price."""
    route = plan_tour(depot, stops)
    tariff = Tariff.load(config)
    return f"{route.describe()}: {route_price(route, tariff)}"
