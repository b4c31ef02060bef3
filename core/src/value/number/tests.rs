//! Arithmetic against the exact integers and the doubles of the platform.
