"""The command line."""

import argparse
import asyncio
import sys

from . import config, report
from .model import Parcel
from .net.client import fetch_all
from .net.server import Server
from .store import DiskStore, StoreError, open_store

COMMANDS = ("add", "list", "summary", "serve", "ask")


def parser():
    parser = argparse.ArgumentParser(prog="depot")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--config")
    parser.add_argument("--place", default=config.STORE_FOLDER)
    return parser


def add(store, words):
    address, weight = words
    parcel = Parcel(address, float(weight))
    store.save(parcel)
    return f"parcel {parcel.number}"


def everything(store):
    return [parcel for batch in store.batches() for parcel in batch]


def run(arguments):
    """Carries out one command and returns what to print."""
    options = parser().parse_args(arguments)
    settings = config.load(options.config) if options.config else config.Config()
    store = open_store(options.place)
    if options.command == "add":
        return add(store, options.words)
    if options.command == "list":
        return report.table(everything(store))
    if options.command == "summary":
        return report.summary(everything(store))
    if options.command == "ask":
        hosts = settings.get("hosts", "").split()
        return str(asyncio.run(fetch_all(hosts, "/status")))
    asyncio.run(Server(store).serve())
    return ""


def main():
    try:
        print(run(sys.argv[1:]))
    except (StoreError, config.ConfigError) as error:
        print(f"depot: {error}", file=sys.stderr)
        return 1
    return 0


def is_durable(store):
    return isinstance(store, DiskStore)
