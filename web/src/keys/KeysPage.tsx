import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as calls from "../api/calls";
import { messageOf } from "../api/errors";
import { keys } from "../api/keys";
import type { Key, NewKey } from "../api/types";
import { useSession } from "../app/queries";
import {
  Badge,
  Button,
  Confirm,
  Copyable,
  Dialog,
  ErrorState,
  Field,
  KeyAgain,
  Loading,
  Notice,
  Prose,
  notify,
  PageHead,
  RelativeTime,
} from "../ui";

export default function KeysPage() {
  const list = useQuery({ queryKey: keys.keys, queryFn: async ({ signal }) => (await calls.listKeys(signal)).keys });
  const session = useSession();
  const client = useQueryClient();
  const [making, setMaking] = useState(false);
  const [doomed, setDoomed] = useState<Key | null>(null);
  const own = session.data?.key.id;
  return (
    <div className="page">
      <PageHead
        title="Keys"
        actions={
          <Button look="primary" icon="plus" onClick={() => setMaking(true)}>
            New key
          </Button>
        }
      >
        One for each program or person, with no more reach than it needs, so that each can be revoked alone.
      </PageHead>
      {list.isError ? (
        <ErrorState error={list.error} retry={() => void list.refetch()} />
      ) : !list.data ? (
        <Loading />
      ) : (
        <div className="card table-scroll">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Reach</th>
                <th scope="col">Ends in</th>
                <th scope="col" className="wide-only">
                  Made
                </th>
                <th>
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.data.map((key) => (
                <tr key={key.id}>
                  <td>
                    <span className="row wrap">
                      <strong>{key.name}</strong>
                      {key.id === own && <Badge tone="green">this session</Badge>}
                    </span>
                  </td>
                  <td>{reachOf(key.scope)}</td>
                  <td>
                    <code>…{key.hint}</code>
                  </td>
                  <td className="muted nowrap wide-only">
                    <RelativeTime at={key.created_at} />
                  </td>
                  <td className="num">
                    <Button small onClick={() => setDoomed(key)} aria-label={`Revoke ${key.name}`}>
                      Revoke…
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {making && <NewKeyDialog onClose={() => setMaking(false)} />}
      {doomed && (
        <Confirm
          title={`Revoke ${doomed.name}?`}
          verb="Revoke"
          onClose={() => setDoomed(null)}
          onConfirm={async () => {
            await calls.revokeKey(doomed.id);
            notify(`Revoked ${doomed.name}.`);
            await client.invalidateQueries({ queryKey: doomed.id === own ? keys.session : keys.keys });
          }}
        >
          <p>
            Programs that use the key ending in <code>…{doomed.hint}</code> are refused from now on. Links that were made with it
            end, and tokens of sandboxes that it was given are changed. This cannot be undone; make a new key instead.
          </p>
          {doomed.id === own && (
            <Notice tone="warning">
              You are signed in with this key: you will be signed out at once. Have another one at hand.
            </Notice>
          )}
        </Confirm>
      )}
    </div>
  );
}

const SCOPES = [
  { value: "full", label: "All sandboxes" },
  { value: "read-only", label: "All sandboxes, to look at" },
  { value: "operator", label: "All sandboxes, and the machine" },
];

const reachOf = (scope: string): string =>
  SCOPES.find(({ value }) => value === scope)?.label ??
  (scope.startsWith("sandbox:") ? `Sandbox ${scope.slice("sandbox:".length)}` : scope);

function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [key, setKey] = useState("");
  const [scope, setScope] = useState<string>("full");
  const operates = useSession().data?.key.scope === "operator";
  const [made, setMade] = useState<NewKey | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const submit = async () => {
    setBusy(true);
    setFailure(null);
    try {
      setMade(await calls.createKey(name.trim(), scope, key));
      await client.invalidateQueries({ queryKey: keys.keys });
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  if (made) {
    return (
      <Dialog
        title={`The key ${made.name}`}
        onClose={onClose}
        actions={
          <Button look="primary" onClick={onClose}>
            I have stored it
          </Button>
        }
      >
        <Notice tone="warning">Copy it now: it is shown this once and kept nowhere.</Notice>
        <Copyable text={made.secret} label="the key" />
      </Dialog>
    );
  }
  return (
    <Dialog
      title="New key"
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={busy} disabled={name.trim() === "" || key === ""}>
            Make the key
          </Button>
        </>
      }
    >
      <Field label="What is it for?" hint="People see this name when the key's holder takes over a screen or answers a question.">
        {(ids) => (
          <input
            {...ids}
            className="input"
            value={name}
            placeholder="anna's laptop"
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="How far does it reach?" hint="A key for one sandbox alone: `roost keys create --scope sandbox:ID`.">
        {(ids) => (
          <select {...ids} className="select" value={scope} onChange={(event) => setScope(event.target.value)}>
            {SCOPES.filter(({ value }) => operates || value !== "operator").map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <KeyAgain value={key} onChange={setKey} what="A new key" />
      {failure !== null && (
        <Notice tone="error">
          <Prose text={messageOf(failure)} />
        </Notice>
      )}
    </Dialog>
  );
}
