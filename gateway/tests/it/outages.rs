//! Fall-over, and waiting while a provider is down.
