"""How the node talks to the agent inside, behind `contracts.guest`."""
