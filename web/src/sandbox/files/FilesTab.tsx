import "./files.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState, useSyncExternalStore, type DragEvent } from "react";
import type { Sandbox } from "../../api/types";
import { Button, Confirm, ErrorState, format, Icon, IconButton, Loading, Notice } from "../../ui";
import { isAbort, isPassing } from "../agent/door";
import { listDirectory, stat, watch } from "../agent/files";
import { Asleep } from "../Asleep";
import { isAwake } from "../state";
import { FileView } from "./FileView";
import { Listing } from "./Listing";
import { NameDialog } from "./NameDialog";
import { crumbsOf, join } from "./paths";
import { droppedFiles, Uploads, type Incoming } from "./uploads";
import { UploadList } from "./UploadList";

/** What it holds: look, change, bring in, take out. Looking is quiet. */
export default function FilesTab({ sandbox }: { sandbox: Sandbox }) {
  const search = useSearch({ strict: false });
  const home = useQuery({
    queryKey: ["home", sandbox.id],
    queryFn: ({ signal }) => stat(sandbox, ".", { quiet: true, signal }),
    enabled: isAwake(sandbox) && search.path === undefined,
  });
  const path = search.path ?? home.data?.path;
  if (!isAwake(sandbox)) return <Asleep sandbox={sandbox}>Its files can be seen and changed while it is awake. Those of its snapshots are on the Snapshots page.</Asleep>;
  if (path === undefined) return home.isError ? <ErrorState error={home.error} retry={() => void home.refetch()} /> : <Loading label="Loading files" />;
  return <Folder key={sandbox.id} sandbox={sandbox} path={path} file={search.file} />;
}

function Folder({ sandbox, path, file }: { sandbox: Sandbox; path: string; file: string | undefined }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const queryKey = ["files", sandbox.id, path];
  const found = useQuery({ queryKey, queryFn: ({ signal }) => listDirectory(sandbox, path, { quiet: true, signal }) });
  const live = useWatch(sandbox, path);
  const [uploads] = useState(() => new Uploads());
  const [asking, setAsking] = useState<"folder" | "file" | Incoming[] | null>(null);
  const [dragged, setDragged] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const refresh = (): Promise<void> => client.invalidateQueries({ queryKey });
  const taken = new Set(found.data?.map(({ name }) => name));

  const go = (to: { path?: string; file?: string }): void =>
    void navigate({ to: "/app/sandboxes/$id/$tab", params: { id: sandbox.id, tab: "files" }, search: { path: to.path ?? path, file: to.file } });
  const upload = (files: Incoming[]): void => uploads.add(sandbox, files.map(({ name, file }) => ({ path: join(path, name), file })));
  const bring = (files: Incoming[]): void => {
    if (files.some(({ name }) => taken.has(name))) setAsking(files);
    else if (files.length > 0) upload(files);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setDragged(false);
    void droppedFiles(event.dataTransfer.items).then(bring);
  };
  // Without a watcher, what was uploaded is shown by asking again.
  const finished = useSyncExternalStore(uploads.subscribe, () => uploads.list.filter(({ state }) => state === "done").length);
  useEffect(() => {
    if (finished > 0) void client.invalidateQueries({ queryKey: ["files", sandbox.id] });
  }, [finished, client, sandbox.id]);

  return (
    <div className={`files${file ? " with-file" : ""}`}>
      <div
        className={`files-folder card${dragged ? " dragged" : ""}`}
        role="region"
        aria-label={`Folder ${path}`}
        onDragOver={(event) => (event.preventDefault(), setDragged(true))}
        onDragLeave={(event) => !event.currentTarget.contains(event.relatedTarget as Node | null) && setDragged(false)}
        onDrop={drop}
      >
        <div className="files-bar">
          <nav aria-label="Path" className="crumbs">
            {crumbsOf(path).map((crumb, index, all) => (
              <span key={crumb.path}>
                {index > 1 && <span aria-hidden="true" className="faint">/</span>}
                <button type="button" aria-current={index === all.length - 1 ? "location" : undefined} onClick={() => go({ path: crumb.path })}>{crumb.name}</button>
              </span>
            ))}
          </nav>
          <span className="grow" />
          {live === "off" && <IconButton icon="undo" small label="Load again" onClick={() => void refresh()} />}
          <Button small icon="upload" onClick={() => picker.current?.click()}>Upload</Button>
          <IconButton icon="folder" small label="New folder" onClick={() => setAsking("folder")} />
          <IconButton icon="file" small label="New file" onClick={() => setAsking("file")} />
          <input ref={picker} type="file" multiple hidden onChange={({ target }) => (bring([...(target.files ?? [])].map((each) => ({ name: each.name, file: each }))), (target.value = ""))} />
        </div>
        <UploadList uploads={uploads} />
        {found.isPending ? (
          <div className="files-body"><Loading label="Loading the folder" /></div>
        ) : found.isError ? (
          <ErrorState error={found.error} title="This folder cannot be shown" retry={() => void found.refetch()} />
        ) : (
          <Listing sandbox={sandbox} path={path} entries={found.data} selected={file} onOpen={go} onChanged={refresh} />
        )}
        {dragged && <div className="files-drop" aria-hidden="true"><Icon name="upload" size={24} /> Drop into {path}</div>}
      </div>
      {file && <FileView key={file} sandbox={sandbox} path={file} onClose={() => go({})} />}
      {(asking === "folder" || asking === "file") && (
        <NameDialog sandbox={sandbox} folder={path} kind={asking} taken={taken} onClose={() => setAsking(null)} onMade={(made) => (void refresh(), go(asking === "folder" ? { path: made } : { file: made }))} />
      )}
      {Array.isArray(asking) && (
        <Confirm title="Replace files?" verb="Replace" onConfirm={async () => upload(asking)} onClose={() => setAsking(null)}>
          <p>{format.plural(asking.filter(({ name }) => taken.has(name)).length, "file")} of this name {asking.length === 1 ? "is" : "are"} there already. What {asking.length === 1 ? "it holds" : "they hold"} now is lost, unless a snapshot has it.</p>
          <Notice>{asking.filter(({ name }) => taken.has(name)).slice(0, 8).map(({ name }) => name).join(", ")}</Notice>
        </Confirm>
      )}
    </div>
  );
}

/** Keeps a folder fresh by the sandbox's own word, and says whether that works. */
function useWatch(sandbox: Sandbox, path: string): "on" | "off" {
  const client = useQueryClient();
  const [state, setState] = useState<"on" | "off">("off");
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = (): void => {
      // A program that writes a lot is one change a while, not thousands.
      timer ??= setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: ["files", sandbox.id, path] });
      }, 300);
    };
    const run = async (): Promise<void> => {
      for (let tries = 0; tries < 5 && !stop.signal.aborted; tries++) {
        try {
          for await (const change of watch(sandbox, path, () => (setState("on"), (tries = 0)), { quiet: true, signal: stop.signal })) {
            if (change.kind !== "other") changed();
          }
        } catch (error) {
          setState("off");
          if (isAbort(error) || !isPassing(error)) return;
          await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
        }
      }
    };
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
      setState("off");
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- a new incarnation is a new wire; other changes of the record are not
  }, [client, sandbox.id, sandbox.incarnation, path]);
  return state;
}
