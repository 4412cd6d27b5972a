// Snapshots as the tree they are: each hangs below the one that its sandbox came from.
import type { Snapshot } from "../api/types";

export interface Branch {
  snapshot: Snapshot;
  depth: number;
  /** Of all that hang below it. */
  descendants: number;
}

/** Depth first, each tree by its newest member, siblings oldest first. A parent that is gone makes its children roots. */
export function lineage(snapshots: readonly Snapshot[]): Branch[] {
  const byId = new Map(snapshots.map((snapshot) => [snapshot.id, snapshot]));
  const children = new Map<string | null, Snapshot[]>();
  for (const snapshot of snapshots) {
    const parent = snapshot.parent !== null && byId.has(snapshot.parent) && !isCircular(snapshot, byId) ? snapshot.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), snapshot]);
  }
  const oldestFirst = (a: Snapshot, b: Snapshot) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id);
  const walk = (snapshot: Snapshot, depth: number): { rows: Branch[]; newest: string } => {
    const below = (children.get(snapshot.id) ?? []).sort(oldestFirst).map((child) => walk(child, depth + 1));
    const rows = below.flatMap((each) => each.rows);
    const newest = below.reduce((latest, each) => (each.newest > latest ? each.newest : latest), snapshot.created_at);
    return { rows: [{ snapshot, depth, descendants: rows.length }, ...rows], newest };
  };
  return (children.get(null) ?? [])
    .map((root) => walk(root, 0))
    .sort((a, b) => b.newest.localeCompare(a.newest))
    .flatMap((tree) => tree.rows);
}

/** Records could, by a mistake, point in a circle: none of it may vanish from the page. */
function isCircular(start: Snapshot, byId: ReadonlyMap<string, Snapshot>): boolean {
  const seen = new Set([start.id]);
  for (let parent = start.parent; parent !== null; parent = byId.get(parent)?.parent ?? null) {
    if (seen.has(parent)) return true;
    seen.add(parent);
  }
  return false;
}

/** What matches, with everything above it, so that it can be seen where it belongs. */
export function narrow(rows: readonly Branch[], wanted: (snapshot: Snapshot) => boolean): Branch[] {
  const byId = new Map(rows.map((row) => [row.snapshot.id, row]));
  const kept = new Set<string>();
  for (const row of rows) {
    if (!wanted(row.snapshot)) continue;
    for (
      let at: Branch | undefined = row;
      at && !kept.has(at.snapshot.id);
      at = at.snapshot.parent === null ? undefined : byId.get(at.snapshot.parent)
    ) {
      kept.add(at.snapshot.id);
    }
  }
  return rows.filter((row) => kept.has(row.snapshot.id));
}

export const totalBytes = (snapshots: readonly Snapshot[]): number =>
  snapshots.reduce((sum, snapshot) => sum + snapshot.memory_bytes, 0);
