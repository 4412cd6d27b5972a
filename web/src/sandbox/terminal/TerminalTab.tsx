import "@xterm/xterm/css/xterm.css";
import "./terminal.css";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { messageOf } from "../../api/errors";
import type { Sandbox } from "../../api/types";
import { useIsDark } from "../../app/theme";
import { Button, Confirm, EmptyState, ErrorState, IconButton, Loading } from "../../ui";
import { list } from "../agent/processes";
import { SCREEN_READER } from "../../app/preferences";
import { Asleep } from "../Asleep";
import { isAwake } from "../state";
import { lookOf } from "./look";
import { terminalsOf, type Named } from "./names";
import { LEAVE } from "./session";
import { Shelf, type Open } from "./shelf";

/** Shells in the sandbox. They live there: reloading, closing the browser or sleeping does not end them. */
export default function TerminalTab({ sandbox }: { sandbox: Sandbox }) {
  const awake = isAwake(sandbox);
  const found = useQuery({
    queryKey: ["terminals", sandbox.id],
    queryFn: ({ signal }) => list(sandbox, { quiet: true, signal }).then(terminalsOf),
    enabled: awake,
    gcTime: 0,
  });
  if (found.data) return <Terminals sandbox={sandbox} found={found.data} awake={awake} />;
  if (!awake) return <Asleep sandbox={sandbox}>Its terminals sleep with it, and go on where they were.</Asleep>;
  if (found.error)
    return <ErrorState error={found.error} title="The terminals could not be listed" retry={() => void found.refetch()} />;
  return <Loading label="Looking for terminals" />;
}

function Terminals({ sandbox, found, awake }: { sandbox: Sandbox; found: Named[]; awake: boolean }) {
  const isDark = useIsDark();
  const [reader, setReader] = useState(() => localStorage.getItem(SCREEN_READER) === "1");
  const look = useMemo(() => lookOf(isDark, reader), [isDark, reader]);
  const [shelf] = useState(() => new Shelf(sandbox, `roost.terminal.${sandbox.id}`, look, found));
  const { open, active } = useSyncExternalStore(shelf.subscribe, () => shelf.shown);
  const [closing, setClosing] = useState<Open | null>(null);
  useEffect(() => shelf.hold(), [shelf]);
  useEffect(() => shelf.restyle(look), [shelf, look]);

  const close = (each: Open): void => (each.session.phase.kind === "ended" ? shelf.drop(each.tag) : setClosing(each));
  const toggleReader = (): void => {
    localStorage.setItem(SCREEN_READER, reader ? "0" : "1");
    setReader(!reader);
  };
  if (open.length === 0) {
    return (
      <EmptyState
        icon="terminal"
        title="No terminal is open"
        action={
          <Button look="primary" icon="plus" disabled={!awake} onClick={() => shelf.add()}>
            Open a terminal
          </Button>
        }
      >
        <p>
          A shell in the sandbox. It goes on when you leave, reload or close the browser, and sleeps and wakes with the sandbox.
        </p>
      </EmptyState>
    );
  }
  return (
    <div className="terminals">
      <div className="terminal-bar">
        <div className="terminal-tabs" role="group" aria-label="Terminals">
          {open.map((each) => (
            <TerminalName
              key={each.tag}
              open={each}
              selected={each.tag === active}
              onSelect={() => shelf.show(each.tag)}
              onClose={() => close(each)}
            />
          ))}
        </div>
        <IconButton icon="plus" label="New terminal" small disabled={!awake} onClick={() => shelf.add()} />
        <span className="grow" />
        <Button
          small
          look="ghost"
          icon="eye"
          aria-pressed={reader}
          onClick={toggleReader}
          title="Say output aloud by a screen reader. Shift+Esc leaves the terminal."
        >
          <span className="wide-only">Screen reader</span>
        </Button>
      </div>
      {open.map((each) => (
        <TerminalView
          key={each.tag}
          sandbox={sandbox}
          open={each}
          active={each.tag === active}
          awake={awake}
          onReplace={() => (shelf.drop(each.tag), shelf.add())}
        />
      ))}
      {closing && (
        <Confirm
          title={`End terminal ${closing.number}?`}
          verb="End it"
          onClose={() => setClosing(null)}
          onConfirm={() => closing.session.end().then(() => shelf.drop(closing.tag))}
        >
          <p>
            The shell and everything that runs in it is killed. To keep it running, just leave this page: the terminal is still
            here when you come back.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function TerminalName({
  open,
  selected,
  onSelect,
  onClose,
}: {
  open: Open;
  selected: boolean;
  onSelect: () => void;
  onClose: () => void;
}) {
  const title = useSyncExternalStore(open.session.subscribe, () => open.session.title);
  const phase = useSyncExternalStore(open.session.subscribe, () => open.session.phase);
  return (
    <span className={`terminal-name${selected ? " selected" : ""}`}>
      <button type="button" className="terminal-show" aria-pressed={selected} title={title || undefined} onClick={onSelect}>
        <span className="truncate">{title ? `${open.number}: ${title}` : `Terminal ${open.number}`}</span>
        {phase.kind === "ended" && <span className="faint"> (ended)</span>}
      </button>
      <IconButton icon="close" small label={`Close terminal ${open.number}`} onClick={onClose} />
    </span>
  );
}

function TerminalView({
  sandbox,
  open,
  active,
  awake,
  onReplace,
}: {
  sandbox: Sandbox;
  open: Open;
  active: boolean;
  awake: boolean;
  onReplace: () => void;
}) {
  const element = useRef<HTMLDivElement>(null);
  const { session } = open;
  const phase = useSyncExternalStore(session.subscribe, () => session.phase);

  useEffect(() => {
    const place = element.current;
    if (!place || !active) return;
    session.open(place);
    const sizes = new ResizeObserver(() => session.fit());
    sizes.observe(place);
    session.focus();
    const leave = (): void => document.querySelector<HTMLElement>(".terminal-show[aria-pressed=true]")?.focus();
    place.addEventListener(LEAVE, leave);
    return () => {
      sizes.disconnect();
      place.removeEventListener(LEAVE, leave);
    };
  }, [active, session]);

  // Only the one that is looked at holds a connection: a browser has few per host. The others catch up when their turn comes.
  const isHeld = active && awake;
  useEffect(() => {
    if (!isHeld) return;
    session.connect(sandbox);
    return () => session.disconnect();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- a new incarnation is a new wire; other changes of the record are not
  }, [isHeld, session, sandbox.id, sandbox.incarnation]);

  return (
    <div className="terminal-view" role="region" aria-label={`Terminal ${open.number}`} data-keys="own" hidden={!active}>
      <div className="terminal-place" ref={element} aria-label={`Terminal ${open.number}`} role="group" />
      {!awake ? (
        <div className="terminal-over">
          <Asleep sandbox={sandbox}>The terminal goes on where it was.</Asleep>
        </div>
      ) : phase.kind === "ended" ? (
        <div className="terminal-foot" role="status">
          <span>
            {phase.exit ? `The shell ended (${phase.exit.status || `exit ${phase.exit.code}`}).` : "The shell is gone."}
          </span>
          <Button small onClick={onReplace}>
            Start a new one
          </Button>
        </div>
      ) : phase.kind === "failed" ? (
        <div className="terminal-foot" role="alert">
          <span>{messageOf(phase.error)}</span>
          <Button small onClick={() => session.connect(sandbox)}>
            Reconnect
          </Button>
        </div>
      ) : phase.kind === "connecting" ? (
        <div className="terminal-foot" role="status">
          <span className="spinner" aria-hidden="true" /> Connecting…
        </div>
      ) : null}
    </div>
  );
}
