//! integration
mod agent;
