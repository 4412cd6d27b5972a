import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { updateSandbox } from "../../api/calls";
import { messageOf } from "../../api/errors";
import { keys } from "../../api/keys";
import { enter } from "../../api/tokens";
import type { Network, Policy, Sandbox, UpdateBody } from "../../api/types";
import { useNames, useSources } from "../../app/queries";
import { Button, Card, Copyable, Field, format, notify, Notice, Prose, RelativeTime, Segments } from "../../ui";
import { KillDialog } from "../dialogs";
import { networkChange, pairsText, policyChange, readList, readPairs, readTime, timeText } from "./fields";

export function SettingsTab({ sandbox }: { sandbox: Sandbox }) {
  const [killing, setKilling] = useState(false);
  return (
    <div className="settings">
      <Identity key={`${sandbox.name} ${pairsText(sandbox.metadata)}`} sandbox={sandbox} />
      <Sleep key={JSON.stringify(sandbox.policy)} sandbox={sandbox} />
      {sandbox.network && <NetworkCard key={JSON.stringify(sandbox.network)} sandbox={sandbox} network={sandbox.network} />}
      <Facts sandbox={sandbox} />
      <Card title="Danger zone" padded className="danger-zone">
        <div className="row wrap between">
          <div className="grow">
            <p>Kill this sandbox</p>
            <p className="small muted">Its files are kept for a while, so that it can be brought back.</p>
          </div>
          <Button look="danger" icon="trash" onClick={() => setKilling(true)}>
            Kill…
          </Button>
        </div>
      </Card>
      {killing && <KillDialog sandbox={sandbox} onClose={() => setKilling(false)} />}
    </div>
  );
}

function useUpdate(sandbox: Sandbox) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: UpdateBody) => updateSandbox(sandbox.id, body),
    onSuccess: (fresh) => {
      client.setQueryData(keys.sandbox(sandbox.id), fresh);
      void client.invalidateQueries({ queryKey: keys.activity(sandbox.id) });
      notify("Saved.");
    },
  });
}

interface FormProps {
  title: string;
  /** What would be sent; null while a field is wrong. */
  change: UpdateBody | null;
  sandbox: Sandbox;
  children: ReactNode;
}

/** A card of settings with its own Save: only what was changed is sent. */
function Form({ title, change, sandbox, children }: FormProps) {
  const update = useUpdate(sandbox);
  const nothing = change === null || Object.keys(change).length === 0;
  return (
    <Card title={title}>
      <form onSubmit={(event) => (event.preventDefault(), !nothing && update.mutate(change))}>
        <div className="settings-fields">
          {children}
          {update.error && <Notice tone="error">{messageOf(update.error)}</Notice>}
        </div>
        <div className="settings-foot">
          <Button type="submit" look="primary" disabled={nothing} busy={update.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}

function Identity({ sandbox }: { sandbox: Sandbox }) {
  const [name, setName] = useState(sandbox.name ?? "");
  const [metadata, setMetadata] = useState(pairsText(sandbox.metadata));
  const pairs = readPairs(metadata);
  const change: UpdateBody = {};
  if (name.trim() !== (sandbox.name ?? "")) change.name = name.trim() || null;
  if ("value" in pairs && pairsText(pairs.value) !== pairsText(sandbox.metadata)) change.metadata = pairs.value;
  return (
    <Form title="Name and metadata" sandbox={sandbox} change={"problem" in pairs ? null : change}>
      <Field label="Name" hint="Unique among the living.">
        {(ids) => (
          <input
            {...ids}
            className="input"
            value={name}
            maxLength={63}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Metadata"
        hint="One name=value a line. For searching and sorting; Roost does not read it."
        problem={"problem" in pairs ? pairs.problem : null}
      >
        {(ids) => (
          <textarea
            {...ids}
            className="textarea mono"
            rows={4}
            spellCheck={false}
            value={metadata}
            onChange={(event) => setMetadata(event.target.value)}
          />
        )}
      </Field>
    </Form>
  );
}

function Sleep({ sandbox }: { sandbox: Sandbox }) {
  const { policy } = sandbox;
  const [idle, setIdle] = useState(timeText(policy.idle_s));
  const [timeout, setTimeoutText] = useState(timeText(policy.timeout_s));
  const [onTimeout, setOnTimeout] = useState<Policy["on_timeout"]>(policy.on_timeout);
  const [wakes, setWakes] = useState(policy.wake_on_traffic);
  const [memory, setMemory] = useState(policy.keep_memory);
  const [idleRead, timeoutRead] = [readTime(idle), readTime(timeout)];
  const good = "value" in idleRead && "value" in timeoutRead;
  const change = good
    ? policyChange(policy, {
        ...policy,
        idle_s: idleRead.value,
        timeout_s: timeoutRead.value,
        on_timeout: onTimeout,
        wake_on_traffic: wakes,
        keep_memory: memory,
      })
    : null;
  return (
    <Form title="Sleep" sandbox={sandbox} change={change}>
      <Field
        label="Sleeps when idle for"
        hint="Without traffic, holds or work of its own. Empty: it does not."
        problem={"problem" in idleRead ? idleRead.problem : null}
      >
        {(ids) => (
          <input {...ids} className="input" placeholder="never" value={idle} onChange={(event) => setIdle(event.target.value)} />
        )}
      </Field>
      <Field
        label="Timeout"
        hint={
          sandbox.expires_at ? (
            <>
              The present one comes <RelativeTime at={sandbox.expires_at} />. A new one counts from now.
            </>
          ) : (
            "Empty: none."
          )
        }
        problem={"problem" in timeoutRead ? timeoutRead.problem : null}
      >
        {(ids) => (
          <input
            {...ids}
            className="input"
            placeholder="none"
            value={timeout}
            onChange={(event) => setTimeoutText(event.target.value)}
          />
        )}
      </Field>
      <div className="field">
        <span className="label">When the timeout comes</span>
        <div>
          <Segments
            label="When the timeout comes"
            value={onTimeout}
            options={[
              { value: "pause", label: "Sleep" },
              { value: "kill", label: "Kill" },
            ]}
            onChange={setOnTimeout}
          />
        </div>
      </div>
      <Check
        checked={wakes}
        onChange={setWakes}
        label="A request to it wakes it"
        about="Otherwise it sleeps until it is woken by hand or by API."
      />
      <Check
        checked={memory}
        onChange={setMemory}
        label="Keeps its memory when it sleeps by itself"
        about="Otherwise only its files: it boots when it wakes."
      />
    </Form>
  );
}

function Check({
  checked,
  onChange,
  label,
  about,
}: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  label: string;
  about: string;
}) {
  return (
    <label className="check settings-check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      <span>
        {label}
        <span className="small muted settings-about">{about}</span>
      </span>
    </label>
  );
}

function NetworkCard({ sandbox, network }: { sandbox: Sandbox; network: Network }) {
  const [internet, setInternet] = useState(network.internet);
  const [open, setOpen] = useState(network.public);
  const [allow, setAllow] = useState(network.allow.join("\n"));
  const [deny, setDeny] = useState(network.deny.join("\n"));
  const change = networkChange(network, { internet, public: open, allow: readList(allow), deny: readList(deny) });
  return (
    <Form title="Network" sandbox={sandbox} change={Object.keys(change).length > 0 ? { network: change } : {}}>
      <Check
        checked={internet}
        onChange={setInternet}
        label="It reaches the internet"
        about="Otherwise only what is allowed below."
      />
      <Field
        label="Allowed"
        hint="Addresses, networks like 10.0.0.0/8 and, without the internet, host names like *.example.com; one a line. Wins over what is denied."
      >
        {(ids) => (
          <textarea
            {...ids}
            className="textarea mono"
            rows={3}
            spellCheck={false}
            value={allow}
            onChange={(event) => setAllow(event.target.value)}
          />
        )}
      </Field>
      <Field label="Denied" hint="Addresses and networks, one a line. Wins over the internet.">
        {(ids) => (
          <textarea
            {...ids}
            className="textarea mono"
            rows={3}
            spellCheck={false}
            value={deny}
            onChange={(event) => setDeny(event.target.value)}
          />
        )}
      </Field>
      <Check
        checked={open}
        onChange={setOpen}
        label="Its ports are public"
        about="Otherwise a request to them needs its traffic token in the header e2b-traffic-access-token."
      />
      {!network.public && <TrafficToken sandbox={sandbox} />}
    </Form>
  );
}

/** Asked for by whoever wants to see it: it is in no record. */
function TrafficToken({ sandbox }: { sandbox: Sandbox }) {
  const [token, setToken] = useState<string | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const show = async () => {
    try {
      setToken((await enter(sandbox.id)).traffic_token);
    } catch (error) {
      setFailure(error);
    }
  };
  if (failure !== null)
    return (
      <Notice tone="error">
        <Prose text={messageOf(failure)} />
      </Notice>
    );
  return token === null ? (
    <div>
      <Button onClick={() => void show()}>Show the traffic token</Button>
    </div>
  ) : (
    <Copyable text={token} label="traffic token" />
  );
}

function Facts({ sandbox }: { sandbox: Sandbox }) {
  const { size } = sandbox;
  const sourceOf = useSources([sandbox.template]);
  const nameOf = useNames();
  const limit = (value: number, words: string): string => (value === 0 ? "no limit" : words);
  return (
    <Card title="About" padded>
      <div className="stack">
        <Copyable text={sandbox.id} label="id" />
        <dl className="facts">
          <dt>Made from</dt>
          <dd>{sourceOf(sandbox.template)}</dd>
          <dt>Made</dt>
          <dd>{format.moment(sandbox.created_at)}</dd>
          {sandbox.parent && (
            <>
              <dt>Forked from</dt>
              <dd>{nameOf(sandbox.parent)}</dd>
            </>
          )}
          <dt>Processors</dt>
          <dd>{limit(size.cpus, String(size.cpus))}</dd>
          <dt>Memory</dt>
          <dd>{limit(size.memory_mb, format.bytes(size.memory_mb * 1024 * 1024))}</dd>
          <dt>Disk</dt>
          <dd>{limit(size.disk_mb, format.bytes(size.disk_mb * 1024 * 1024))}</dd>
          <dt>Processes</dt>
          <dd>{limit(size.pids, String(size.pids))}</dd>
          <dt>Incarnation</dt>
          <dd>{sandbox.incarnation}</dd>
        </dl>
      </div>
    </Card>
  );
}
