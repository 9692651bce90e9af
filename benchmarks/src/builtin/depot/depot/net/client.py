"""A client for the service of another depot."""

import asyncio
import json

from depot.config import DEFAULT_TIMEOUT
from depot.net.retry import GaveUp, retrying

PORT = 8074


def load(text):
    """Reads a reply."""
    reply = json.loads(text)
    if "error" in reply:
        raise ConnectionError(reply["error"])
    return reply["value"]


@retrying(ConnectionError, asyncio.TimeoutError)
async def fetch(host, path, timeout=DEFAULT_TIMEOUT):
    """Asks a depot for a value."""
    reader, writer = await asyncio.open_connection(host, PORT)
    try:
        writer.write(f"GET {path}\n".encode())
        await writer.drain()
        line = await asyncio.wait_for(reader.readline(), timeout)
    finally:
        writer.close()
    return load(line)


async def fetch_all(hosts, path):
    """Asks several depots at once; those that do not answer are left out."""
    replies = await asyncio.gather(*(fetch(h, path) for h in hosts), return_exceptions=True)
    return [reply for reply in replies if not isinstance(reply, GaveUp)]


class Client:
    """One depot, as others see it."""

    def __init__(self, host):
        self.host = host

    async def status(self):
        return await fetch(self.host, "/status")

    async def find(self, number):
        return await fetch(self.host, f"/parcels/{number}")

    @staticmethod
    def address(host, path):
        return f"depot://{host}:{PORT}{path}"
