"""Time, calls, verdicts and evidence: what every standard's cases stand on."""
