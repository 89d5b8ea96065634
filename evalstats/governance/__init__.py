"""What may be concluded from run records: the scorecard of a skill."""
