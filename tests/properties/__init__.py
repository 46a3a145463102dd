"""Any sequence of events at all, and what holds after each of them."""
