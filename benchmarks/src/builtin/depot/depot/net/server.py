"""The service that other depots ask."""

import asyncio
import json

from ..store import StoreError
from . import client

GREETING = b"depot 1\n"


class Server:
    """Answers questions about the parcels of a store."""

    def __init__(self, store):
        self.store = store
        self.asked = 0

    def answer(self, line):
        self.asked += 1
        _, _, path = line.decode().strip().partition(" ")
        try:
            if path == "/status":
                return {"value": {"parcels": len(self.store.numbers())}}
            number = int(path.rsplit("/", 1)[-1])
            return {"value": self.store.load(number).save()}
        except (StoreError, ValueError) as error:
            return {"error": str(error)}

    async def handle(self, reader, writer):
        line = await reader.readline()
        writer.write(json.dumps(self.answer(line)).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def serve(self, host="127.0.0.1"):
        server = await asyncio.start_server(self.handle, host, client.PORT)
        async with server:
            await server.serve_forever()


async def mirror(server, host):
    """Copies the status of another depot."""
    status = await client.fetch(host, "/status")
    server.asked += status["parcels"]
    return client.Client.address(host, "/status")
