"""What people look at: metadata tables and ``explain``."""
