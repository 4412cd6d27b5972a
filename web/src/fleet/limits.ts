import type { CreateBody } from "../api/types";

/** As people type them: cores, and memory and disk in GB. Empty means as the template has it. */
export interface Limits {
  cpus: string;
  memory: string;
  disk: string;
}

/** Undefined for nothing, null for what is no number. */
export function limit(text: string): number | undefined | null {
  const typed = text.trim().replace(",", ".");
  if (typed === "") return undefined;
  return /^\d+(\.\d+)?$/.test(typed) ? Number(typed) : null;
}

/** What to ask for; null when one of them is mistyped. */
export function sizeOf(limits: Limits): CreateBody["size"] | null {
  const [cpus, memory, disk] = [limit(limits.cpus), limit(limits.memory), limit(limits.disk)];
  if (cpus === null || memory === null || disk === null) return null;
  return {
    ...(cpus === undefined ? {} : { cpus }),
    ...(memory === undefined ? {} : { memory_mb: Math.ceil(memory * 1024) }),
    ...(disk === undefined ? {} : { disk_mb: Math.ceil(disk * 1024) }),
  };
}
