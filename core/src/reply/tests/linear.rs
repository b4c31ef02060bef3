//! Work is linear in the reply, counted in bytes looked at.
