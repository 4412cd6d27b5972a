import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { portUrl } from "../../api/agent";
import type { Sandbox } from "../../api/types";
import { Badge, Button, copy, EmptyState, ErrorState, Field, IconButton, Loading, Notice } from "../../ui";
import { ports, type PortRow } from "../agent/status";
import { Asleep } from "../Asleep";
import { isAwake } from "../state";
import { useFresh } from "../useFresh";

/** What listens inside, each with an address of its own outside. */
export function PortsTab({ sandbox }: { sandbox: Sandbox }) {
  const awake = isAwake(sandbox);
  const queryKey = ["ports", sandbox.id];
  const found = useQuery({ queryKey, queryFn: ({ signal }) => ports(sandbox, { quiet: true, signal }), enabled: awake, staleTime: 0 });
  useFresh(sandbox.id, queryKey);
  if (!awake) return <Asleep sandbox={sandbox}>What listens in it answers again when it wakes. A request to one of its addresses wakes it too, if its settings allow that.</Asleep>;
  if (found.isPending) return <Loading label="Looking for ports" />;
  if (found.isError) return <ErrorState error={found.error} title="The ports could not be listed" retry={() => void found.refetch()} />;
  return (
    <div className="stack">
      {sandbox.network?.public === false && <Notice>Its ports are not public: a request needs its traffic token in the header <code>e2b-traffic-access-token</code>, so these links do not open in a browser.</Notice>}
      {found.data.length === 0 ? (
        <EmptyState icon="plug" title="Nothing listens" action={<Button icon="undo" busy={found.isFetching} onClick={() => void found.refetch()}>Look again</Button>}>
          <p>Start a server in it, on any port and any address, 127.0.0.1 too. It appears here with a link.</p>
          <pre>python3 -m http.server 8000</pre>
        </EmptyState>
      ) : (
        <ul className="ports">{found.data.map((row) => <Port key={`${row.port} ${row.address}`} sandbox={sandbox} row={row} />)}</ul>
      )}
      <OtherPort sandbox={sandbox} />
    </div>
  );
}

function Port({ sandbox, row }: { sandbox: Sandbox; row: PortRow }) {
  const url = portUrl(sandbox, row.port);
  return (
    <li className="port card">
      <span className="port-number number">{row.port}</span>
      <div className="grow">
        <p className="truncate"><code>{row.command ?? "unknown"}</code></p>
        <p className="small muted truncate">{url.replace(/^https?:\/\//, "")}</p>
      </div>
      {row.loopback && <span title={`It listens on ${row.address} only; this address reaches it all the same.`}><Badge>loopback</Badge></span>}
      <IconButton icon="copy" label={`Copy the address of port ${row.port}`} onClick={() => void copy(url, "The address is copied.")} />
      <a className="button" href={url} target="_blank" rel="noopener noreferrer">Open<span className="visually-hidden"> port {row.port} in a new tab</span></a>
    </li>
  );
}

function OtherPort({ sandbox }: { sandbox: Sandbox }) {
  const [text, setText] = useState("");
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  const good = port > 0 && port < 65536;
  return (
    <div className="other-port">
      <Field label="Address of another port" hint="It exists before anything listens there." problem={text && !good ? "Ports are the numbers 1 to 65535." : null}>
        {(ids) => <input {...ids} className="input number" inputMode="numeric" placeholder="8000" value={text} onChange={(event) => setText(event.target.value.trim())} />}
      </Field>
      <Button icon="copy" disabled={!good} onClick={() => void copy(portUrl(sandbox, port), "The address is copied.")}>Copy</Button>
    </div>
  );
}
