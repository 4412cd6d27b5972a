import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { handBack, takeOver } from "../../api/calls";
import { ApiError } from "../../api/errors";
import type { Driver, ScreenLink } from "../../api/types";
import { Button, Confirm, EmptyState, format, Icon, IconButton, notify, notifyError, RelativeTime, Segments } from "../../ui";
import { save } from "../save";
import { ClipboardDialog } from "./ClipboardDialog";
import { Stage, type Scaling, type StageHandle, type Wire } from "./Stage";

type Way = Pick<ScreenLink, "token" | "websocket" | "mode">;

interface ScreenProps {
  name: string;
  link: Way;
  driver: Driver | null;
  driving: boolean;
  /** Stands over the picture, which is old then. */
  over: ReactNode;
  onDriver: (driver: Driver | null) => void;
  /** Asks for what taking over needs beyond this link, which is for watching. Without it, there is no taking over by such a link. */
  onWantsToDrive?: () => void;
  /** What to do when the link has ended. */
  onLinkOver: () => ReactNode;
  /** What the sandbox's clipboard holds, for who may ask it: who only watches is not told by the screen. */
  readClipboard?: () => Promise<string>;
  tools?: ReactNode;
}

const SCALINGS = [
  { value: "fit", label: "Fit" },
  { value: "actual", label: "1:1" },
  { value: "match", label: "Match" },
] as const satisfies readonly { value: Scaling; label: string }[];

/** A desktop with its tools: who drives, take over and hand back, size, clipboard, picture, full screen. */
export function Screen({
  name,
  link,
  driver,
  driving,
  over,
  onDriver,
  onWantsToDrive,
  onLinkOver,
  readClipboard,
  tools,
}: ScreenProps) {
  const frame = useRef<HTMLDivElement>(null);
  const stage = useRef<StageHandle>(null);
  const [wire, setWire] = useState<Wire>({ kind: "connecting", attempt: 0 });
  const [wished, setScaling] = useState<Scaling>("fit");
  // Only who drives may change the size of the desktop.
  const scaling = wished === "match" && !driving ? "fit" : wished;
  const [clipboard, setClipboard] = useState("");
  const [asking, setAsking] = useState<"clipboard" | "force" | null>(null);
  const [busy, setBusy] = useState(false);
  const isFull = useSyncExternalStore(onFullScreen, () => document.fullscreenElement !== null);

  const wantsFocus = useRef(false);
  const isConnected = wire.kind === "connected";
  useEffect(() => {
    if (!driving || !isConnected || !wantsFocus.current) return;
    wantsFocus.current = false;
    stage.current?.focus();
  }, [driving, isConnected]);

  const ask = (): void => {
    wantsFocus.current = true;
    onWantsToDrive?.();
  };
  const take = async (force = false): Promise<void> => {
    setBusy(true);
    try {
      onDriver(await takeOver(link.token, force));
      stage.current?.focus();
    } catch (error) {
      if (error instanceof ApiError && error.code === "somebody_drives" && !force) setAsking("force");
      else if (force) throw error;
      else notifyError(error);
    } finally {
      setBusy(false);
    }
  };
  const give = async (): Promise<void> => {
    setBusy(true);
    try {
      await handBack(link.token);
      onDriver(null);
      // Once the other button is there to be focused: the one that was pressed goes.
      requestAnimationFrame(() => frame.current?.querySelector<HTMLElement>(".screen-drive")?.focus());
    } catch (error) {
      notifyError(error);
    } finally {
      setBusy(false);
    }
  };

  // A screen that is driven takes every key, Tab too. This chord is the way out by keyboard.
  const leave = useEffectEvent((event: KeyboardEvent) => {
    if (!(event.ctrlKey && event.altKey && event.shiftKey && event.code === "KeyH") || !driving) return;
    event.preventDefault();
    event.stopPropagation();
    void give();
  });
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => leave(event);
    window.addEventListener("keydown", hear, { capture: true });
    return () => window.removeEventListener("keydown", hear, { capture: true });
  }, []);

  // What was copied elsewhere comes along, if the browser allows it without asking.
  const bring = useEffectEvent(async () => {
    if (!driving || !(await mayReadClipboard())) return;
    const text = await navigator.clipboard.readText().catch(() => "");
    if (text && text !== clipboard) stage.current?.paste(text);
  });
  useEffect(() => {
    if (!driving || !isConnected) return;
    const come = (): void => void bring();
    come();
    window.addEventListener("focus", come);
    return () => window.removeEventListener("focus", come);
  }, [driving, isConnected]);

  const heard = (text: string): void => {
    setClipboard(text);
    if (driving && document.hasFocus()) void navigator.clipboard?.writeText(text).catch(() => undefined);
  };
  const send = (text: string): void => {
    stage.current?.paste(text);
    setClipboard(text);
    // To be pasted there: after the dialog has given the focus back.
    requestAnimationFrame(() => stage.current?.focus());
  };
  const copyPicture = async (): Promise<void> => {
    const picture = await stage.current?.picture();
    if (!picture) return;
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
      notify("The picture is on the clipboard.");
    } catch {
      notify("The browser does not let this page copy pictures: it is in your downloads.");
      save(picture, `${name}-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.png`);
    }
  };
  const fill = (): void => void (isFull ? document.exitFullscreen() : frame.current?.requestFullscreen())?.catch(notifyError);
  const openClipboard = async (): Promise<void> => {
    if (readClipboard && wire.kind === "connected" && over === null) await readClipboard().then(setClipboard, notifyError);
    setAsking("clipboard");
  };

  return (
    <div className={`screen${driving ? " driving" : ""}`} ref={frame}>
      <div className="screen-bar">
        <Drives driver={driver} driving={driving} />
        {(link.mode === "control" || onWantsToDrive) &&
          (driving ? (
            <Button
              small
              look="primary"
              className="screen-drive"
              busy={busy}
              onClick={() => void give()}
              title="Ctrl+Alt+Shift+H"
            >
              Hand back
            </Button>
          ) : (
            <Button
              small
              look="primary"
              className="screen-drive"
              icon="hand"
              busy={busy}
              disabled={!isConnected || over !== null}
              onClick={() => (link.mode === "control" ? void take() : ask())}
            >
              Take over
            </Button>
          ))}
        <span className="grow" />
        <div className="screen-tools">
          <Segments label="Size" value={scaling} options={driving ? SCALINGS : SCALINGS.slice(0, 2)} onChange={setScaling} />
          {driving && (
            <IconButton small className="touch-only" icon="keyboard" label="Keyboard" onClick={() => stage.current?.keyboard()} />
          )}
          <IconButton small icon="copy" label="Clipboard" onClick={() => void openClipboard()} />
          <IconButton
            small
            icon="camera"
            label="Copy the picture"
            disabled={wire.kind !== "connected"}
            onClick={() => void copyPicture()}
          />
          {document.fullscreenEnabled && (
            <IconButton
              small
              icon={isFull ? "shrink" : "expand"}
              label={isFull ? "Leave full screen" : "Full screen"}
              onClick={fill}
            />
          )}
          {tools}
        </div>
      </div>
      <div className="screen-stage">
        <Stage
          websocket={link.websocket}
          driving={driving}
          scaling={scaling}
          label={`Screen of ${name}${driving ? ", you drive" : ", you watch"}`}
          onWire={setWire}
          onClipboard={heard}
          handle={stage}
        />
        <Cover wire={wire} over={over} onAgain={() => stage.current?.again()} onLinkOver={onLinkOver} />
      </div>
      {driving && (
        <p className="screen-hint small muted">
          Your keys and clicks go to {name}; its agent's are refused until you hand back.{" "}
          <span className="screen-chord">
            <kbd>Ctrl</kbd> <kbd>Alt</kbd> <kbd>Shift</kbd> <kbd>H</kbd> hands back.
          </span>
        </p>
      )}
      {asking === "clipboard" && (
        <ClipboardDialog
          text={clipboard}
          driving={driving}
          isTold={driving || readClipboard !== undefined}
          onSend={send}
          onClose={() => setAsking(null)}
        />
      )}
      {asking === "force" && (
        <Confirm
          title={`${driver?.who ?? "Somebody"} drives`}
          verb="Take over"
          onConfirm={() => take(true)}
          onClose={() => setAsking(null)}
        >
          <p>
            {driver ? (
              <>
                {driver.who} has driven {name} since {format.clock(driver.since)}.
              </>
            ) : (
              "Somebody else drives at the moment."
            )}{" "}
            If you take over, their keys and clicks are refused from then on. They are not asked.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function Drives({ driver, driving }: { driver: Driver | null; driving: boolean }) {
  return (
    <p className="screen-who small" role="status">
      <Icon name={driver ? "hand" : "terminal"} />
      {driving ? (
        <strong>You drive</strong>
      ) : driver ? (
        <span>
          <strong>{driver.who}</strong> drives, <RelativeTime at={driver.since} />
        </span>
      ) : (
        <span>The agent drives</span>
      )}
    </p>
  );
}

function Cover({
  wire,
  over,
  onAgain,
  onLinkOver,
}: {
  wire: Wire;
  over: ReactNode;
  onAgain: () => void;
  onLinkOver: () => ReactNode;
}) {
  if (over) return <div className="screen-cover">{over}</div>;
  if (wire.kind === "connected") return null;
  return (
    <div className="screen-cover">
      {wire.kind === "connecting" ? (
        <p className="row" role="status">
          <span className="spinner" aria-hidden="true" /> {wire.attempt > 1 ? "Connecting again…" : "Connecting to the screen…"}
        </p>
      ) : wire.kind === "closed" ? (
        <EmptyState icon="link" title="This link has ended" action={onLinkOver()}>
          <p>{wire.reason}</p>
        </EmptyState>
      ) : (
        <EmptyState icon="warning" title="The screen cannot be reached" action={<Button onClick={onAgain}>Try again</Button>}>
          <p>The sandbox may be moving, or its desktop is not up.</p>
        </EmptyState>
      )}
    </div>
  );
}

function onFullScreen(watcher: () => void): () => void {
  document.addEventListener("fullscreenchange", watcher);
  return () => document.removeEventListener("fullscreenchange", watcher);
}

async function mayReadClipboard(): Promise<boolean> {
  if (!document.hasFocus()) return false;
  try {
    return (await navigator.permissions.query({ name: "clipboard-read" as PermissionName })).state === "granted";
  } catch {
    return false;
  }
}
