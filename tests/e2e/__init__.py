"""End-to-end stories on the real cluster: load through a Service, a disruption, and every request's fate."""
