"""A store with one file for each parcel."""

import json
import os

from .base import BaseStore, StoreError

SUFFIX = ".json"


def load(path):
    """Reads one record."""
    try:
        with open(path) as text:
            return json.load(text)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: {error}") from error


class DiskStore(BaseStore):
    """Keeps parcels in a folder."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def path(self, number):
        return os.path.join(self.folder, f"{number}{SUFFIX}")

    def load(self, number):
        self.check(number)
        return self.restore(load(self.path(number)))

    def save(self, parcel):
        path = self.path(parcel.number)
        with open(path + ".new", "w") as text:
            json.dump(parcel.save(), text)
        os.replace(path + ".new", path)

    def numbers(self):
        names = os.listdir(self.folder)
        found = [int(name[: -len(SUFFIX)]) for name in names if name.endswith(SUFFIX)]
        return sorted(found)

    def close(self):
        super().close()
        self.folder = None
