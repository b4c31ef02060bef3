//! Properties that hold for any reply.
