import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { Sandbox } from "../../api/types";
import {
  Button,
  Confirm,
  EmptyState,
  ErrorState,
  format,
  IconButton,
  Loading,
  notify,
  notifyError,
  Notice,
  RelativeTime,
  Segments,
} from "../../ui";
import { read, stat, write, type Entry } from "../agent/files";
import { DiffView } from "./DiffView";
import { download } from "./download";
import { useDraft } from "./drafts";
import { Editor } from "./Editor";
import { baseOf, pictureType, textOf } from "./paths";

const MAX_TEXT_BYTES = 2 * 1024 * 1024;
const MAX_PICTURE_BYTES = 32 * 1024 * 1024;

type Content =
  | { kind: "text"; text: string }
  | { kind: "picture"; url: string }
  | { kind: "binary" }
  | { kind: "large" }
  | { kind: "special" };

interface Loaded {
  entry: Entry;
  content: Content;
}

async function load(sandbox: Sandbox, path: string, signal: AbortSignal): Promise<Loaded> {
  const reach = { quiet: true, signal };
  const entry = await stat(sandbox, path, reach);
  if (entry.kind !== "file") return { entry, content: { kind: "special" } };
  const type = pictureType(path);
  if (entry.size > (type ? MAX_PICTURE_BYTES : MAX_TEXT_BYTES)) return { entry, content: { kind: "large" } };
  const bytes = await read(sandbox, path, reach);
  // As a picture it runs no scripts, not even an SVG's.
  if (type) return { entry, content: { kind: "picture", url: URL.createObjectURL(new Blob([bytes], { type })) } };
  const text = textOf(await bytes.arrayBuffer());
  return { entry, content: text === null ? { kind: "binary" } : { kind: "text", text } };
}

export function FileView({ sandbox, path, onClose }: { sandbox: Sandbox; path: string; onClose: () => void }) {
  const queryKey = ["file", sandbox.id, path];
  const found = useQuery({ queryKey, queryFn: ({ signal }) => load(sandbox, path, signal), gcTime: 0 });
  const picture = found.data?.content.kind === "picture" ? found.data.content.url : null;
  useEffect(() => () => void (picture && URL.revokeObjectURL(picture)), [picture]);
  const take = (): void => download(sandbox, path);

  return (
    <section className="file-pane card" aria-label={`File ${path}`}>
      {found.isPending ? (
        <FileHead path={path} onClose={onClose} />
      ) : found.isError ? (
        <>
          <FileHead path={path} onClose={onClose} />
          <ErrorState error={found.error} title="This file cannot be shown" retry={() => void found.refetch()} />
        </>
      ) : found.data.content.kind === "text" ? (
        <TextFile
          sandbox={sandbox}
          loaded={found.data.entry}
          text={found.data.content.text}
          onDownload={take}
          onClose={onClose}
        />
      ) : (
        <>
          <FileHead path={path} entry={found.data.entry} onDownload={take} onClose={onClose} />
          {found.data.content.kind === "picture" ? (
            <div className="file-picture">
              <img src={found.data.content.url} alt={baseOf(path)} />
            </div>
          ) : (
            <EmptyState
              icon="file"
              title={{ binary: "Not text", large: "Too large to show", special: "Not a plain file" }[found.data.content.kind]}
              action={
                found.data.content.kind === "special" ? undefined : (
                  <Button icon="download" onClick={take}>
                    Download
                  </Button>
                )
              }
            >
              <p>{format.bytes(found.data.entry.size)}</p>
            </EmptyState>
          )}
        </>
      )}
      {found.isPending && (
        <div className="files-body">
          <Loading label="Loading the file" />
        </div>
      )}
    </section>
  );
}

interface HeadProps {
  path: string;
  entry?: Entry;
  onDownload?: () => void;
  onClose: () => void;
  children?: React.ReactNode;
}

function FileHead({ path, entry, onDownload, onClose, children }: HeadProps) {
  return (
    <header className="file-head">
      <div className="grow">
        <h2 className="truncate" title={path}>
          {baseOf(path)}
        </h2>
        {entry && (
          <p className="small muted">
            {format.bytes(entry.size)} · changed <RelativeTime at={entry.modifiedAt} />
          </p>
        )}
      </div>
      {children}
      {onDownload && <IconButton icon="download" small label="Download" onClick={onDownload} />}
      <IconButton icon="close" small label="Close the file" onClick={onClose} />
    </header>
  );
}

interface TextProps {
  sandbox: Sandbox;
  loaded: Entry;
  text: string;
  onDownload: () => void;
  onClose: () => void;
}

function TextFile({ sandbox, loaded, text, onDownload, onClose }: TextProps) {
  const client = useQueryClient();
  const [mode, setMode] = useState<"edit" | "diff">("edit");
  const { draft, setDraft, discard, kept } = useDraft(sandbox.id, loaded, text);
  const [saving, setSaving] = useState(false);
  // Save was pressed while one was under way: what was typed meanwhile is saved after it.
  const wanted = useRef(false);
  const [asking, setAsking] = useState<"overwrite" | "discard" | null>(null);
  const dirty = draft !== null;
  const shown = draft?.text ?? text;
  const base = draft ?? loaded;
  const newer = useNewer(sandbox, loaded);

  const put = async (): Promise<void> => {
    await write(sandbox, loaded.path, new Blob([shown]));
    const entry = await stat(sandbox, loaded.path);
    client.setQueryData<Loaded>(["file", sandbox.id, loaded.path], { entry, content: { kind: "text", text: shown } });
    kept(shown, entry);
    notify(`${baseOf(loaded.path)} is saved.`);
    void client.invalidateQueries({ queryKey: ["files", sandbox.id] });
  };
  const keep = async (): Promise<void> => {
    wanted.current = saving;
    if (!dirty || saving) return;
    setSaving(true);
    try {
      const now = await stat(sandbox, loaded.path).catch(() => null);
      if (now && (now.modifiedAt !== base.modifiedAt || now.size !== base.size)) setAsking("overwrite");
      else await put();
    } catch (error) {
      notifyError(error);
    } finally {
      setSaving(false);
    }
  };
  const keepRest = useEffectEvent(() => void (wanted.current && keep()));
  useEffect(() => {
    if (!saving) keepRest();
  }, [saving]);
  useEffect(() => {
    if (newer && !dirty) void client.invalidateQueries({ queryKey: ["file", sandbox.id, loaded.path] });
  }, [newer, dirty, client, sandbox.id, loaded.path]);

  return (
    <>
      <FileHead
        path={loaded.path}
        entry={loaded}
        onDownload={onDownload}
        onClose={() => (dirty ? setAsking("discard") : onClose())}
      >
        <Segments
          label="Show"
          value={mode}
          options={[
            { value: "edit", label: "Edit" },
            { value: "diff", label: "Diff" },
          ]}
          onChange={setMode}
        />
        <Button small look="primary" busy={saving} disabled={!dirty} onClick={() => void keep()} title="Ctrl+S">
          Save
        </Button>
      </FileHead>
      {dirty && (newer || base.modifiedAt !== loaded.modifiedAt) && (
        <Notice tone="warning">It was changed in the sandbox since you opened it. Saving replaces that.</Notice>
      )}
      {mode === "edit" ? (
        <Editor text={shown} label={`Text of ${loaded.path}`} onChange={setDraft} onSave={() => void keep()} />
      ) : (
        <DiffView sandbox={sandbox} path={loaded.path} text={shown} />
      )}
      {asking === "overwrite" && (
        <Confirm title="Replace a newer file?" verb="Replace" onConfirm={put} onClose={() => setAsking(null)}>
          <p>{loaded.path} was changed in the sandbox since you opened it. If you save, that change is lost.</p>
        </Confirm>
      )}
      {asking === "discard" && (
        <Confirm
          title="Close without saving?"
          verb="Close"
          onConfirm={async () => (discard(), onClose())}
          onClose={() => setAsking(null)}
        >
          <p>What you changed in {baseOf(loaded.path)} is lost.</p>
        </Confirm>
      )}
    </>
  );
}

/** Whether the listing beside, which is kept fresh, knows a newer one. */
function useNewer(sandbox: Sandbox, loaded: Entry): boolean {
  const folder = loaded.path.slice(0, loaded.path.lastIndexOf("/")) || "/";
  const { data } = useQuery<Entry[]>({ queryKey: ["files", sandbox.id, folder], enabled: false });
  const listed = data?.find(({ path }) => path === loaded.path);
  return listed !== undefined && Date.parse(listed.modifiedAt) > Date.parse(loaded.modifiedAt);
}
