"""Planning on the executors of a Spark session."""
