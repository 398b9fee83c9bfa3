"""Scheduling of subplans: readiness, write sets, one bound; as plain functions of what has ended, without git."""
