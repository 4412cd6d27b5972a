import { useNavigate } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as calls from "../api/calls";
import { messageOf } from "../api/errors";
import type { CreateBody, Template } from "../api/types";
import { useBuilds, useSources, useTemplates } from "../app/queries";
import { put } from "../live/stream";
import { Button, Dialog, Field, Icon, Notice, Prose, Segments, Skeleton } from "../ui";
import { bytes, parseDuration } from "../ui/format";
import { limit, type Limits, sizeOf } from "./limits";

const IDLE = [
  { value: "", label: "Never" },
  { value: "60", label: "1 min" },
  { value: "300", label: "5 min" },
  { value: "1800", label: "30 min" },
] as const;

/** `from`: a template or a snapshot that was chosen elsewhere. */
export function CreateDialog({ from, onClose }: { from: string | undefined; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const templates = useTemplates();
  const [source, setSource] = useState(from ?? "");
  const [name, setName] = useState("");
  const [idle, setIdle] = useState<(typeof IDLE)[number]["value"]>("300");
  const [timeout, setTimeoutText] = useState("");
  const [onTimeout, setOnTimeout] = useState<"pause" | "kill">("pause");
  const [limits, setLimits] = useState<Limits>({ cpus: "", memory: "", disk: "" });
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);

  const nameOf = useSources(from ? [from] : []);
  const list = templates.data ?? [];
  const builds = useBuilds().data ?? [];
  const chosen = source || list.find((template) => template.has_desktop)?.name || list[0]?.name || "";
  const seconds = timeout.trim() === "" ? null : parseDuration(timeout);
  const isMistyped = timeout.trim() !== "" && (seconds === null || seconds <= 0);
  const size = sizeOf(limits);
  const usual = list.find((template) => template.name === chosen)?.size;

  const submit = async () => {
    if (isMistyped || !chosen || size === null) return;
    setBusy(true);
    setFailure(null);
    const body: CreateBody = {
      template: chosen,
      name: name.trim() || null,
      idle_s: idle === "" ? null : Number(idle),
      timeout_s: seconds,
      on_timeout: onTimeout,
      size,
    };
    try {
      const sandbox = await calls.createSandbox(body);
      put(client, [{ type: "sandbox", sandbox }]);
      await navigate({
        to: "/app/sandboxes/$id/$tab",
        params: { id: sandbox.id, tab: sandbox.has_desktop ? "screen" : "terminal" },
      });
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="New sandbox"
      wide
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={busy} disabled={!chosen || isMistyped || size === null}>
            Create
          </Button>
        </>
      }
    >
      {from && !list.some((template) => template.name === from) ? (
        <Notice>
          Made from {nameOf(from) === from ? <code>{from}</code> : <strong>{nameOf(from)}</strong>} (<code>{from}</code>): it goes
          on from that moment.
        </Notice>
      ) : (
        <fieldset className="choices">
          <legend>Template</legend>
          {templates.isPending && <Skeleton height="4.5em" />}
          {templates.isError && (
            <Notice tone="error">
              <Prose text={messageOf(templates.error)} />
            </Notice>
          )}
          {list.map((template) => (
            <TemplateChoice
              key={template.id}
              template={template}
              checked={template.name === chosen}
              onChange={() => setSource(template.name)}
            />
          ))}
          {builds.map((build) => (
            <p key={build.name} className="muted small">
              <strong>{build.name}</strong>{" "}
              {build.failure === null ? "is being made." : "could not be made and is tried again: see Templates."}
            </p>
          ))}
        </fieldset>
      )}
      <Field label="Name" hint="Optional. Letters, digits and dashes; also its host name.">
        {(ids) => (
          <input
            {...ids}
            className="input"
            value={name}
            autoComplete="off"
            spellCheck={false}
            placeholder="research-agent"
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <div className="field">
        <span className="label" id="idle-label">
          Sleep when idle for
        </span>
        <div className="row wrap">
          <Segments label="Sleep when idle for" value={idle} options={IDLE} onChange={setIdle} />
        </div>
        <p className="hint">Asleep it keeps its memory and costs only disk. Opening it, or any request to it, wakes it.</p>
      </div>
      <Field
        label="Timeout"
        hint="Optional. For example 45m, 8h or 3d from now."
        problem={isMistyped ? "Write a length of time, like 45m, 8h or 3d." : null}
      >
        {(ids) => (
          <div className="row">
            <input
              {...ids}
              className="input"
              value={timeout}
              autoComplete="off"
              placeholder="none"
              onChange={(event) => setTimeoutText(event.target.value)}
            />
            <select
              className="select"
              aria-label="At the timeout"
              value={onTimeout}
              disabled={timeout.trim() === ""}
              onChange={(event) => setOnTimeout(event.target.value as "pause" | "kill")}
            >
              <option value="pause">then sleep</option>
              <option value="kill">then end for good</option>
            </select>
          </div>
        )}
      </Field>
      <details className="more">
        <summary>Size</summary>
        <div className="limits">
          <Limit label="CPUs" usual={usual?.cpus} value={limits.cpus} onChange={(cpus) => setLimits({ ...limits, cpus })} />
          <Limit
            label="Memory (GB)"
            usual={usual && usual.memory_mb / 1024}
            value={limits.memory}
            onChange={(memory) => setLimits({ ...limits, memory })}
          />
          <Limit
            label="Disk (GB)"
            usual={usual && usual.disk_mb / 1024}
            value={limits.disk}
            onChange={(disk) => setLimits({ ...limits, disk })}
          />
        </div>
        <p className="muted small">Left empty: as the template has it. 0 is no limit.</p>
      </details>
      {failure !== null && (
        <Notice tone="error">
          <Prose text={messageOf(failure)} />
        </Notice>
      )}
    </Dialog>
  );
}

function Limit({
  label,
  usual,
  value,
  onChange,
}: {
  label: string;
  usual: number | undefined;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label} problem={limit(value) === null ? "Write a number, like 2 or 0.5." : null}>
      {(ids) => (
        <input
          {...ids}
          className="input"
          inputMode="decimal"
          value={value}
          autoComplete="off"
          placeholder={usual === undefined ? "" : String(usual)}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

function TemplateChoice({ template, checked, onChange }: { template: Template; checked: boolean; onChange: () => void }) {
  return (
    <label className="choice">
      <input type="radio" name="template" value={template.name} checked={checked} onChange={onChange} />
      <Icon name={template.has_desktop ? "screen" : "terminal"} size={20} />
      <span className="grow">
        <span className="choice-name">{template.name}</span>
        <span className="muted small choice-about">{template.description}</span>
      </span>
      <span className="faint small nowrap">
        {template.size.cpus ? `${template.size.cpus} CPU` : "all CPUs"} ·{" "}
        {template.size.memory_mb ? bytes(template.size.memory_mb * 1024 * 1024) : "all memory"}
      </span>
    </label>
  );
}
