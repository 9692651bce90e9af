"""What the depot deals with."""

from .parcel import Parcel, ParcelState
from .route import Route, Stop

__all__ = ["Parcel", "ParcelState", "Route", "Stop"]
