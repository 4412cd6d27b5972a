import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { listSnapshots, readSnapshotFile } from "../../api/calls";
import { ApiError, messageOf } from "../../api/errors";
import type { Sandbox, Snapshot } from "../../api/types";
import { EmptyState, ErrorState, Field, format, Loading, Notice } from "../../ui";
import { countsOf, diffLines, hunksOf, linesOf, type Hunk } from "../diff/lines";
import { textOf } from "./paths";

/** How a file differs from what it was in one of the sandbox's snapshots. */
export function DiffView({ sandbox, path, text }: { sandbox: Sandbox; path: string; text: string }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const snapshots = useQuery({
    queryKey: ["snapshots", { sandbox: sandbox.id }],
    queryFn: async ({ signal }) => (await listSnapshots({ sandbox: sandbox.id }, signal)).snapshots,
  });
  const id = chosen ?? snapshots.data?.[0]?.id ?? null;
  if (snapshots.isPending)
    return (
      <div className="files-body">
        <Loading lines={2} label="Loading snapshots" />
      </div>
    );
  if (snapshots.isError) return <ErrorState error={snapshots.error} retry={() => void snapshots.refetch()} />;
  if (id === null) {
    return (
      <EmptyState icon="camera" title="No snapshot to compare with">
        <p>Make one with Snapshot above; sleeping makes one too. Then you can see here what changed since.</p>
      </EmptyState>
    );
  }
  return (
    <div className="diff">
      <div className="diff-bar">
        <Field label="Compared with">
          {(ids) => (
            <select {...ids} className="select" value={id} onChange={(event) => setChosen(event.target.value)}>
              {snapshots.data.map((snapshot) => (
                <option key={snapshot.id} value={snapshot.id}>
                  {called(snapshot)}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Compared snapshot={id} path={path} text={text} />
    </div>
  );
}

const called = (snapshot: Snapshot): string =>
  `${snapshot.name ?? (snapshot.purpose === "kept" ? snapshot.id : `sleep ${snapshot.id}`)}, ${format.moment(snapshot.created_at)}`;

function Compared({ snapshot, path, text }: { snapshot: string; path: string; text: string }) {
  const before = useQuery({
    queryKey: ["snapshot-file", snapshot, path],
    queryFn: async ({ signal }): Promise<{ text: string | null; isNew: boolean }> => {
      try {
        return { text: textOf(await (await readSnapshotFile(snapshot, path, signal)).arrayBuffer()), isNew: false };
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return { text: "", isNew: true };
        throw error;
      }
    },
  });
  const { text: old, isNew } = before.data ?? { isNew: false };
  const edits = useMemo(() => (typeof old === "string" ? diffLines(linesOf(old), linesOf(text)) : []), [old, text]);
  if (before.isPending)
    return (
      <div className="files-body">
        <Loading label="Loading the file of the snapshot" />
      </div>
    );
  if (before.isError)
    return (
      <div className="files-body">
        <Notice tone="error">{messageOf(before.error)}</Notice>
      </div>
    );
  if (old === null)
    return (
      <div className="files-body">
        <Notice>In the snapshot it was not text.</Notice>
      </div>
    );
  const { added, removed } = countsOf(edits);
  if (added + removed === 0)
    return (
      <EmptyState icon="check" title={isNew ? "New and empty" : "No difference"}>
        <p>The file is what it was in the snapshot.</p>
      </EmptyState>
    );
  return (
    <>
      <p className="diff-counts small" role="status">
        {isNew && <strong>Not in the snapshot: all of it is new. </strong>}
        <span className="added">+{added}</span> <span className="removed">−{removed}</span>
      </p>
      <div className="diff-lines" role="table" aria-label="Difference">
        {hunksOf(edits).map((hunk) => (
          <Lines key={`${hunk.oldStart} ${hunk.newStart}`} hunk={hunk} />
        ))}
      </div>
    </>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−" } as const;

function Lines({ hunk }: { hunk: Hunk }) {
  return (
    <div className="diff-hunk" role="rowgroup">
      {hunk.edits.map((edit) => (
        <div key={`${edit.oldLine} ${edit.newLine}`} className={`diff-line ${edit.kind}`} role="row">
          <span role="cell" className="diff-number">
            {edit.oldLine}
          </span>
          <span role="cell" className="diff-number">
            {edit.newLine}
          </span>
          <span role="cell" className="diff-text">
            <span className="diff-sign" aria-label={edit.kind === "same" ? undefined : edit.kind}>
              {SIGNS[edit.kind]}
            </span>
            {edit.text}
          </span>
        </div>
      ))}
    </div>
  );
}
