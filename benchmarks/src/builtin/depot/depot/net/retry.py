"""Trying again, with growing pauses."""

import asyncio
import functools

from depot.config import RETRY_LIMIT

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0


class GaveUp(Exception):
    """All attempts failed; the last error is the cause."""


def pauses(limit=RETRY_LIMIT):
    """Yields the seconds to wait before each new attempt."""
    pause = FIRST_PAUSE
    for _ in range(limit - 1):
        yield min(pause, LONGEST_PAUSE)
        pause *= 2


def retrying(*errors):
    """Makes a coroutine function try again after some errors."""

    def decorate(function):
        @functools.wraps(function)
        async def attempt(*args, **kwargs):
            last = None
            for pause in [*pauses(), None]:
                try:
                    return await function(*args, **kwargs)
                except errors as error:
                    last = error
                if pause is not None:
                    await asyncio.sleep(pause)
            raise GaveUp(function.__name__) from last

        return attempt

    return decorate
