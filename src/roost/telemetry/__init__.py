"""What a human may ask about afterwards: log lines, numbers, and the spans that tie them together.

    operation   wraps a piece of work: one span, one closing line, one measurement. Start here
    log         where lines go and how they look
    metrics     every number Roost gives away, by name

May import `domain` alone. Lines are for operators; what a user should see is an event in the store.
"""
