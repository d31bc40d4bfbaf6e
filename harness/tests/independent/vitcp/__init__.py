"""An independent VI/TCP endpoint: see README.md."""
