"""Reads untrusted files strictly and in bounded memory: JSON, zip archives, XML and OTLP."""
