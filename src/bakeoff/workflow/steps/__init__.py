"""The built-in step types, one file each: leaves do work themselves, containers hold other steps."""
