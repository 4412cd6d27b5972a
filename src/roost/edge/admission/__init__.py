"""Whom a request is for, and what it may do there. Pure: decided before anything is woken or sent."""
