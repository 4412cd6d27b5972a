import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { portUrl } from "../../api/agent";
import type { Sandbox } from "../../api/types";
import { Badge, Button, EmptyState, ErrorState, Field, Loading, Notice } from "../../ui";
import { ports, type PortRow } from "../agent/status";
import { Asleep } from "../Asleep";
import { isAwake } from "../state";
import { useChanges } from "../useChanges";
import { useFresh } from "../useFresh";
import { isPublic } from "./isPublic";
import { SharePort } from "./SharePort";
import { useOpenPort } from "./useOpenPort";

/** A server takes a moment from its start until it listens. */
const LISTENS_AFTER_MS = 2_000;

/** What listens inside, each with an address of its own outside. */
export function PortsTab({ sandbox }: { sandbox: Sandbox }) {
  const [shared, setShared] = useState<number | null>(null);
  return (
    <div className="stack">
      {isAwake(sandbox) ? (
        <Listening sandbox={sandbox} onShare={setShared} />
      ) : (
        <Asleep sandbox={sandbox}>
          What listens in it answers again when it wakes. A request to one of its addresses wakes it too, if its settings allow
          that.
        </Asleep>
      )}
      <OtherPort onShare={setShared} />
      {shared !== null && <SharePort sandbox={sandbox} port={shared} onClose={() => setShared(null)} />}
    </div>
  );
}

function Listening({ sandbox, onShare }: { sandbox: Sandbox; onShare: (port: number) => void }) {
  const queryKey = ["ports", sandbox.id];
  const found = useQuery({ queryKey, queryFn: ({ signal }) => ports(sandbox, { quiet: true, signal }), staleTime: 0 });
  useFresh(sandbox.id, queryKey);
  useChanges(sandbox, queryKey, LISTENS_AFTER_MS);
  if (found.isPending) return <Loading label="Looking for ports" />;
  if (found.isError)
    return <ErrorState error={found.error} title="The ports could not be listed" retry={() => void found.refetch()} />;
  if (found.data.length === 0) {
    return (
      <EmptyState
        icon="plug"
        title="Nothing listens"
        action={
          <Button icon="undo" busy={found.isFetching} onClick={() => void found.refetch()}>
            Look again
          </Button>
        }
      >
        <p>Start a server in it, on any port and any address, 127.0.0.1 too. It appears here with a link.</p>
        <pre>python3 -m http.server 8000</pre>
      </EmptyState>
    );
  }
  return (
    <>
      {!isPublic(sandbox) && (
        <Notice>
          Its ports are not public: they open by a link that ends. A program may send the traffic token in the header{" "}
          <code>e2b-traffic-access-token</code>.
        </Notice>
      )}
      <ul className="ports">
        {found.data.map((row) => (
          <Port key={`${row.port} ${row.address}`} sandbox={sandbox} row={row} onShare={onShare} />
        ))}
      </ul>
    </>
  );
}

function Port({ sandbox, row, onShare }: { sandbox: Sandbox; row: PortRow; onShare: (port: number) => void }) {
  const url = portUrl(sandbox, row.port);
  const open = useOpenPort(sandbox);
  const which = <span className="visually-hidden"> port {row.port} in a new tab</span>;
  return (
    <li className="port card">
      <span className="port-number number">{row.port}</span>
      <div className="grow">
        <p className="truncate">
          <code>{row.command ?? "unknown"}</code>
        </p>
        <p className="small muted truncate">{url.replace(/^https?:\/\//, "")}</p>
      </div>
      {row.loopback && (
        <span title={`It listens on ${row.address} only; this address reaches it all the same.`}>
          <Badge>loopback</Badge>
        </span>
      )}
      <Button icon="share" onClick={() => onShare(row.port)}>
        Share<span className="visually-hidden"> port {row.port}</span>
      </Button>
      {isPublic(sandbox) ? (
        <a className="button" href={url} target="_blank" rel="noopener noreferrer">
          Open{which}
        </a>
      ) : (
        <Button onClick={() => open(row.port)}>Open{which}</Button>
      )}
    </li>
  );
}

function OtherPort({ onShare }: { onShare: (port: number) => void }) {
  const [text, setText] = useState("");
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  const good = port > 0 && port < 65536;
  return (
    <form
      className="other-port"
      onSubmit={(event) => {
        event.preventDefault();
        if (good) onShare(port);
      }}
    >
      <Field
        label="Share any port"
        hint="Its address exists before anything listens there."
        problem={text && !good ? "Ports are the numbers 1 to 65535." : null}
      >
        {(ids) => (
          <input
            {...ids}
            className="input number"
            inputMode="numeric"
            placeholder="8000"
            value={text}
            onChange={(event) => setText(event.target.value.trim())}
          />
        )}
      </Field>
      <Button type="submit" icon="share" disabled={!good}>
        Share
      </Button>
    </form>
  );
}
