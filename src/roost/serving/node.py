"""The role of the node: `python -m roost.serving.node`. Not started by hand: see `role`."""

from __future__ import annotations

import signal
from functools import partial

import anyio

from roost.drivers.cluster.served import answer_for
from roost.node.steps import CrashPoint, never
from roost.rpc.server import serve
from roost.serving.role import Duty, run_role
from roost.wiring.identity import VERSION
from roost.wiring.node import open_node

SOCKET = "node"  # where control calls it


async def serve_node(duty: Duty, crash_point: CrashPoint = never) -> None:
    """Until SIGTERM. Sandboxes live on."""
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        told = duty.assignment
        async with (
            open_node(duty.settings, told.installation, told.node, crash_point) as node,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(
                serve, answer_for(node, node.snapshots, node.builds, node.door, build=VERSION), duty.sockets[SOCKET]
            )
            duty.tell_ready()
            async for _ in signals:
                tasks.cancel_scope.cancel()
                break


def main(crash_point: CrashPoint = never) -> None:
    run_role(partial(serve_node, crash_point=crash_point))


if __name__ == "__main__":
    main()
