import "./files.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState, useSyncExternalStore, type ChangeEvent, type DragEvent } from "react";
import type { Sandbox } from "../../api/types";
import { Button, Confirm, ErrorState, Icon, IconButton, Loading, Menu, notifyError } from "../../ui";
import { isAbort, isPassing } from "../agent/door";
import { listDirectory, stat, watch } from "../agent/files";
import { Asleep } from "../Asleep";
import { isAwake } from "../state";
import { downloadFolder } from "./download";
import { FileView } from "./FileView";
import { Listing } from "./Listing";
import { NameDialog } from "./NameDialog";
import { crumbsOf } from "./paths";
import { chosenFiles, clashesOf, droppedFiles, isBusy, Uploads, type Incoming } from "./uploads";
import { UploadList } from "./UploadList";

/** Every browser knows it, React's types do not. */
const WHOLE_FOLDER = { webkitdirectory: "" };

/** What it holds: look, change, bring in, take out. Looking is quiet. */
export default function FilesTab({ sandbox }: { sandbox: Sandbox }) {
  const search = useSearch({ strict: false });
  const home = useQuery({
    queryKey: ["home", sandbox.id],
    queryFn: ({ signal }) => stat(sandbox, ".", { quiet: true, signal }),
    enabled: isAwake(sandbox) && search.path === undefined,
  });
  const path = search.path ?? home.data?.path;
  if (!isAwake(sandbox)) return <Asleep sandbox={sandbox}>Its files can be seen and changed while it is awake.</Asleep>;
  if (path === undefined)
    return home.isError ? <ErrorState error={home.error} retry={() => void home.refetch()} /> : <Loading label="Loading files" />;
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
  const folderPicker = useRef<HTMLInputElement>(null);
  const refresh = (): Promise<void> => client.invalidateQueries({ queryKey });
  const taken = new Set(found.data?.map(({ name }) => name));

  const go = (to: { path?: string; file?: string }): void =>
    void navigate({
      to: "/app/sandboxes/$id/$tab",
      params: { id: sandbox.id, tab: "files" },
      search: { path: to.path ?? path, file: to.file },
    });
  const upload = (files: Incoming[]): void => uploads.add(sandbox, path, files);
  const bring = (files: Incoming[]): void => {
    if (clashesOf(files, taken).length > 0) setAsking(files);
    else if (files.length > 0) upload(files);
  };
  const choose = ({ target }: ChangeEvent<HTMLInputElement>): void => {
    bring(chosenFiles(target.files ?? []));
    target.value = "";
  };
  const drag = (event: DragEvent): void => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setDragged(true);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setDragged(false);
    void droppedFiles(event.dataTransfer.items).then(bring, notifyError);
  };
  // Without a watcher, what was uploaded is shown by asking again, once all of it is there.
  const over = useSyncExternalStore(uploads.subscribe, () => (isBusy(uploads.list) ? 0 : (uploads.list.at(-1)?.id ?? 0)));
  useEffect(() => {
    if (over > 0) void client.invalidateQueries({ queryKey: ["files", sandbox.id] });
  }, [over, client, sandbox.id]);

  return (
    <div className={`files${file ? " with-file" : ""}`}>
      <div
        className={`files-folder card${dragged ? " dragged" : ""}`}
        role="region"
        aria-label={`Folder ${path}`}
        onDragOver={drag}
        onDragLeave={(event) => !event.currentTarget.contains(event.relatedTarget as Node | null) && setDragged(false)}
        onDrop={drop}
      >
        <div className="files-bar">
          <nav aria-label="Path" className="crumbs">
            {crumbsOf(path).map((crumb, index, all) => (
              <span key={crumb.path}>
                {index > 1 && (
                  <span aria-hidden="true" className="faint">
                    /
                  </span>
                )}
                <button
                  type="button"
                  aria-current={index === all.length - 1 ? "location" : undefined}
                  onClick={() => go({ path: crumb.path })}
                >
                  {crumb.name}
                </button>
              </span>
            ))}
          </nav>
          <span className="grow" />
          {live === "off" && <IconButton icon="undo" small label="Load again" onClick={() => void refresh()} />}
          <Button small icon="upload" onClick={() => picker.current?.click()}>
            Upload
          </Button>
          <Menu
            label="More for this folder"
            small
            entries={[
              { label: "Upload a folder…", icon: "upload", onSelect: () => folderPicker.current?.click() },
              { label: "New folder…", icon: "folder", onSelect: () => setAsking("folder") },
              { label: "New file…", icon: "file", onSelect: () => setAsking("file") },
              "separator",
              { label: "Download as .tar.gz", icon: "download", onSelect: () => downloadFolder(sandbox, path) },
            ]}
          />
          <input ref={picker} type="file" multiple hidden onChange={choose} />
          <input ref={folderPicker} type="file" {...WHOLE_FOLDER} hidden onChange={choose} />
        </div>
        <UploadList uploads={uploads} />
        {found.isPending ? (
          <div className="files-body">
            <Loading label="Loading the folder" />
          </div>
        ) : found.isError ? (
          <ErrorState error={found.error} title="This folder cannot be shown" retry={() => void found.refetch()} />
        ) : (
          <Listing sandbox={sandbox} path={path} entries={found.data} selected={file} onOpen={go} onChanged={refresh} />
        )}
        {dragged && (
          <div className="files-drop" aria-hidden="true">
            <Icon name="upload" size={24} /> Drop into {path}
          </div>
        )}
      </div>
      {file && <FileView key={file} sandbox={sandbox} path={file} onClose={() => go({})} />}
      {(asking === "folder" || asking === "file") && (
        <NameDialog
          sandbox={sandbox}
          folder={path}
          kind={asking}
          taken={taken}
          onClose={() => setAsking(null)}
          onMade={(made) => (void refresh(), go(asking === "folder" ? { path: made } : { file: made }))}
        />
      )}
      {Array.isArray(asking) && (
        <Replace clashes={clashesOf(asking, taken)} onConfirm={async () => upload(asking)} onClose={() => setAsking(null)} />
      )}
    </div>
  );
}

function Replace({ clashes, onConfirm, onClose }: { clashes: string[]; onConfirm: () => Promise<void>; onClose: () => void }) {
  const [one, many] = [clashes.length === 1, clashes.length > 8];
  return (
    <Confirm
      title={one ? `Replace ${clashes[0]}?` : `Replace ${clashes.length} of them?`}
      verb="Replace"
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>
        {clashes.slice(0, 8).map((name, index) => (
          <span key={name}>
            {index > 0 && ", "}
            <code>{name}</code>
          </span>
        ))}
        {many && ` and ${clashes.length - 8} more`} {one ? "is" : "are"} there already. What a file holds now is lost, unless a
        snapshot has it; a folder keeps what has other names.
      </p>
    </Confirm>
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
      let tries = 0;
      const ready = (): void => {
        setState("on");
        tries = 0;
        changed(); // What happened before, while nobody watched, was not told.
      };
      for (; tries < 5 && !stop.signal.aborted; tries++) {
        try {
          for await (const change of watch(sandbox, path, ready, { quiet: true, signal: stop.signal })) {
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
