"""People beside the agents: links to screens and ports, who holds the keyboard (`hands`), questions, events, the fleet's page."""
