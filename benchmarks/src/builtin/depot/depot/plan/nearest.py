"""Goes to the nearest stop next."""

from ..model.route import Route, Stop, merge
from .cost import price


def nearest(stop, others):
    """Returns the stop that is closest to another."""
    best = None
    for other in others:
        if best is None or stop.distance(other) < stop.distance(best):
            best = other
    return best


def plan(start, stops):
    """Orders stops, beginning at one of them."""
    left = [stop for stop in stops if stop is not start]
    order = [start]
    while left:
        stop = nearest(order[-1], left)
        left.remove(stop)
        order.append(stop)
    return Route(order)


def plan_tour(depot, stops):
    """Orders stops and comes back to the depot."""
    out = plan(depot, stops)
    back = Route([out.stops[-1], depot])
    return merge(out, back)


def cheapest(routes):
    """Returns the route that costs least."""
    return min(routes, key=price)


def center(stops):
    """Returns a stop in the middle of others."""
    count = len(stops)
    x = sum(stop.x for stop in stops) / count
    y = sum(stop.y for stop in stops) / count
    return Stop("center", x, y)
