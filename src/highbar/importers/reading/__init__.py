"""Reading what strangers wrote, strictly and in bounded memory: JSON, zip archives and XML."""
