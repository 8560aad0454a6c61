"""How the registry answers: settings, wiring, routes, problems, telemetry."""
