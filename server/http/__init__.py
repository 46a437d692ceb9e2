"""The HTTP door: gate, routes, application."""
