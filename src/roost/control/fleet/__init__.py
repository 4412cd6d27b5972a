"""The machines: the nodes as last seen, how busy each sandbox is, and the routes by which the edge finds it."""
