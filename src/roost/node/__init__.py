"""One per machine: makes it so. Carries out orders with the engine, the disk and the network it was handed.

Owns the volume, the slots, the cgroups and the containers of this machine, and nothing of what they mean: that is control's.
Never imports control, edge or drivers.

    service     the node itself: orders and questions
    holdings    what it holds, and who ended unasked;  adoption: what a dead server left
    engine      containers: made, captured, kept warm, kept within their memory, taken away
    storage     subvolumes, snapshots, images and what they prove
    network     slots, the packet filter, DNS and the gate

Start with `service`.
"""
