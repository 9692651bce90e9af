//! A model server on loopback that plays what a test tells it, byte by byte if need be, and keeps
//! what it was sent.
