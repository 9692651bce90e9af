//! Drives whole gateways: agents on one side, model servers on loopback on the other.

#![allow(clippy::unwrap_used, clippy::expect_used)] // In a test, a panic is the report.

mod agent;
mod dialects;
mod door;
mod failures;
mod model_server;
mod outages;
mod real_server;
mod records;
