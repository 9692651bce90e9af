"""Tests of the depot."""

import unittest

from depot import Parcel, open_store
from depot.config import parse_line
from depot.model.parcel import ParcelState, WrongMove, to_grams
from depot.model.route import CAPACITY, NightRoute, Route, Stop
from depot.net import retry
from depot.store.disk import load as read_record


class Fake:
    """A store for tests, with names that real ones have too."""

    def load(self, number):
        return number

    def price(self, route):
        return 0

    def pauses(self):
        return []


class ParcelTest(unittest.TestCase):
    def test_weights_are_converted(self):
        self.assertEqual(to_grams(2, "kg"), 2000)

    def test_a_parcel_cannot_skip_a_state(self):
        with self.assertRaises(WrongMove):
            Parcel("here", 1).move(ParcelState.DELIVERED)

    def test_a_store_returns_what_it_was_given(self):
        store = open_store()
        parcel = Parcel("here", 3)
        store.save(parcel)
        self.assertEqual(store.load(parcel.number).grams, 3)


class RouteTest(unittest.TestCase):
    def test_nights_are_faster(self):
        stops = [Stop("a", 0, 0), Stop("b", 3, 4)]
        self.assertLess(NightRoute(stops).hours(), Route(stops).hours())

    def test_an_empty_route_has_room(self):
        self.assertLess(len(list(Route().parcels())), CAPACITY)


class OtherTest(unittest.TestCase):
    def test_pauses_grow(self):
        found = list(retry.pauses(3))
        self.assertEqual(found, sorted(found))

    def test_comments_are_skipped(self):
        self.assertIsNone(parse_line("# nothing"))

    def test_a_missing_record_is_an_error(self):
        with self.assertRaises(Exception):
            read_record("/no/such/file")
