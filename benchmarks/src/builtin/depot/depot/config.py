"""Settings, from a file of ``name = value`` lines."""

import os

DEFAULT_TIMEOUT = 30.0
RETRY_LIMIT = 4
STORE_FOLDER = os.path.join("var", "depot")
UNITS = {"g": 1, "kg": 1000, "lb": 453.59237}


class ConfigError(Exception):
    """A setting is missing or cannot be read."""

    def __init__(self, name, reason):
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class Config:
    """Named settings with defaults."""

    def __init__(self, values=None):
        self.values = dict(values or {})

    def get(self, name, default=None):
        return self.values.get(name, default)

    def number(self, name, default):
        text = self.values.get(name)
        if text is None:
            return default
        try:
            return float(text)
        except ValueError:
            raise ConfigError(name, f"{text!r} is no number")

    def flag(self, name):
        return self.values.get(name, "no") == "yes"


def parse_line(line):
    """Splits one line; returns None for blank lines and comments."""
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    name, sign, value = line.partition("=")
    if not sign:
        raise ConfigError(line, "a line needs a sign of equality")
    return name.strip(), value.strip()


def load(path):
    """Reads a file of settings."""
    values = {}
    with open(path) as lines:
        for line in lines:
            pair = parse_line(line)
            if pair is not None:
                values[pair[0]] = pair[1]
    return Config(values)
