"""The whole life of a server. One process holds the home and starts the others, each a role:

    server      what `roost up` runs: takes the home, the volume and the sockets, starts the roles. Start here
    supervisor  starts processes, watches them, starts them again, ends them in order
    role        what a role's process does first and last; what it is told and what it tells
    node        the role that carries out orders on this machine
    control     the role with the control plane and its API
    edge        the role that takes connections and carries traffic
    recipes     what the templates are made of

A role that ends, however, is started again; sandboxes and the other roles go on. When the first process ends, all do. What they
leave behind is what the next server adopts.
"""
