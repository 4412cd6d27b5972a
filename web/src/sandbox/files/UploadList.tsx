import { useSyncExternalStore } from "react";
import { messageOf } from "../../api/errors";
import { Button, format, IconButton, Meter } from "../../ui";
import { baseOf } from "./paths";
import type { Upload, Uploads } from "./uploads";

export function UploadList({ uploads }: { uploads: Uploads }) {
  const list = useSyncExternalStore(uploads.subscribe, () => uploads.list);
  if (list.length === 0) return null;
  const busy = list.filter(({ state }) => state === "waiting" || state === "sending").length;
  return (
    <div className="uploads" role="region" aria-label="Uploads">
      <div className="row between">
        <p className="small muted" role="status">{busy > 0 ? `Uploading, ${busy} to go` : "Uploads are done"}</p>
        {busy === 0 && <Button small look="ghost" onClick={() => uploads.clear()}>Dismiss</Button>}
      </div>
      <ul>{list.slice(-6).map((upload) => <Row key={upload.id} upload={upload} onStop={() => uploads.stop(upload.id)} />)}</ul>
    </div>
  );
}

function Row({ upload, onStop }: { upload: Upload; onStop: () => void }) {
  const moving = upload.state === "waiting" || upload.state === "sending";
  return (
    <li>
      <span className="truncate small" title={upload.path}>{baseOf(upload.path)}</span>
      {moving ? <Meter share={upload.size === 0 ? 1 : upload.sent / upload.size} label={`Upload of ${baseOf(upload.path)}`} /> : <span className={`small truncate ${upload.state === "failed" ? "upload-failed" : "muted"}`}>{upload.state === "failed" ? messageOf(upload.error) : upload.state === "done" ? format.bytes(upload.size) : "stopped"}</span>}
      {moving ? <IconButton icon="close" small label={`Stop the upload of ${baseOf(upload.path)}`} onClick={onStop} /> : <span />}
    </li>
  );
}
