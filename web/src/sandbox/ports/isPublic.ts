import type { Sandbox } from "../../api/types";

/** Whether its ports are open to anybody who knows their addresses. */
export const isPublic = (sandbox: Pick<Sandbox, "network">): boolean => sandbox.network?.public !== false;
