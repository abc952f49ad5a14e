"""Run a plan with Spark."""
