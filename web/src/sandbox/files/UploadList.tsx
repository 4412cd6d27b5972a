import { useEffect, useSyncExternalStore } from "react";
import { messageOf } from "../../api/errors";
import { Button, format, IconButton, Meter } from "../../ui";
import { isBusy, summaryOf, worthShowing, type Upload, type Uploads } from "./uploads";

const SHOWN = 6;

export function UploadList({ uploads }: { uploads: Uploads }) {
  const list = useSyncExternalStore(uploads.subscribe, () => uploads.list);
  const busy = isBusy(list);
  useEffect(() => {
    if (!busy) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [busy]);
  if (list.length === 0) return null;
  return (
    <div className="uploads" role="region" aria-label="Uploads">
      <div className="row between">
        <p className="small muted" role="status">
          {summaryOf(list)}
        </p>
        {!busy && (
          <Button small look="ghost" onClick={() => uploads.clear()}>
            Dismiss
          </Button>
        )}
      </div>
      <ul>
        {worthShowing(list, SHOWN).map((upload) => (
          <Row key={upload.id} upload={upload} onStop={() => uploads.stop(upload.id)} />
        ))}
      </ul>
      {list.length > SHOWN && <p className="small faint">and {list.length - SHOWN} more</p>}
    </div>
  );
}

function Row({ upload, onStop }: { upload: Upload; onStop: () => void }) {
  const moving = upload.state === "waiting" || upload.state === "sending";
  return (
    <li>
      <span className="truncate small" title={upload.path}>
        {upload.name}
      </span>
      {moving ? (
        <Meter share={upload.size === 0 ? 1 : upload.sent / upload.size} label={`Upload of ${upload.name}`} />
      ) : (
        <span className={`small truncate ${upload.state === "failed" ? "upload-failed" : "muted"}`}>
          {upload.state === "failed"
            ? messageOf(upload.error)
            : upload.state === "stopped"
              ? "stopped"
              : upload.isFolder
                ? "an empty folder"
                : format.bytes(upload.size)}
        </span>
      )}
      {moving ? <IconButton icon="close" small label={`Stop the upload of ${upload.name}`} onClick={onStop} /> : <span />}
    </li>
  );
}
