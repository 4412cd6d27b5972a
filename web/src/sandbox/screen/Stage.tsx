import RFB from "@novnc/novnc";
import { useEffect, useEffectEvent, useImperativeHandle, useRef, useState, type Ref } from "react";
import { BACKSPACE, keysymOf, typed } from "./keysyms";

export type Scaling = "fit" | "actual" | "match";

export type Wire =
  | { kind: "connecting"; attempt: number }
  | { kind: "connected" }
  /** It was closed for good, with a reason: the link ended. */
  | { kind: "closed"; reason: string }
  /** It could not be made, again and again. */
  | { kind: "failed" };

export interface StageHandle {
  picture: () => Promise<Blob | null>;
  paste: (text: string) => void;
  focus: () => void;
  keyboard: () => void;
  again: () => void;
}

interface StageProps {
  websocket: string;
  driving: boolean;
  scaling: Scaling;
  label: string;
  onWire: (wire: Wire) => void;
  onClipboard: (text: string) => void;
  handle: Ref<StageHandle>;
}

const DELAYS_MS: readonly number[] = [0, 500, 1000, 2000, 4000, 8000, 8000, 15000];
/** Close codes from here on are the server's own words about the link. */
const LINK_OVER = 4000;
/** But for this one: nothing shows a screen there yet, as in a desktop that boots. */
const NO_SCREEN = 4005;
/** What a phone's keyboard needs to have something to erase. */
const FILLING = "·".repeat(32);

/** The picture of a desktop, alive, and if it drives, the hands on it. */
export function Stage({ websocket, driving, scaling, label, onWire, onClipboard, handle }: StageProps) {
  const place = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const rfb = useRef<RFB | null>(null);
  const [round, setRound] = useState(0);
  const tell = useEffectEvent(onWire);
  const heard = useEffectEvent((text: string) => onClipboard(text));
  const dress = useEffectEvent((screen: RFB) => {
    screen.viewOnly = !driving;
    screen.scaleViewport = scaling !== "actual";
    screen.resizeSession = driving && scaling === "match";
  });

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let over = false;
    let attempt = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const connect = (): void => {
      tell({ kind: "connecting", attempt });
      const wire = new WebSocket(websocket, ["binary"]);
      const screen = new RFB(element, wire, { shared: true });
      screen.background = "transparent";
      screen.qualityLevel = 7;
      dress(screen);
      rfb.current = screen;
      screen.addEventListener("connect", () => {
        attempt = 0;
        dress(screen);
        tell({ kind: "connected" });
      });
      screen.addEventListener("clipboard", ({ detail }) => heard(detail.text));
      // The socket's own event comes with a code; noVNC's does not.
      wire.addEventListener("close", ({ code, reason }) => {
        if (over) return;
        rfb.current = null;
        if (code >= LINK_OVER && code !== NO_SCREEN) return tell({ kind: "closed", reason: reason || "The link has ended." });
        const delay = DELAYS_MS[attempt++];
        if (delay === undefined) return tell({ kind: "failed" });
        tell({ kind: "connecting", attempt });
        timer = setTimeout(connect, delay);
      });
    };
    connect();
    return () => {
      over = true;
      clearTimeout(timer);
      rfb.current?.disconnect();
      rfb.current = null;
      element.replaceChildren();
    };
  }, [websocket, round]);

  useEffect(() => {
    if (rfb.current) dress(rfb.current);
  }, [driving, scaling]);

  useImperativeHandle(handle, () => ({
    picture: () => new Promise((resolve) => (rfb.current ? rfb.current.toBlob(resolve, "image/png") : resolve(null))),
    paste: (text) => rfb.current?.clipboardPasteFrom(text),
    focus: () => rfb.current?.focus(),
    keyboard: () => (field.current?.focus(), empty(field.current)),
    again: () => setRound((before) => before + 1),
  }));

  const type = (): void => {
    const element = field.current;
    if (!element) return;
    const { erased, added } = typed(FILLING, element.value);
    for (let count = 0; count < erased; count++) rfb.current?.sendKey(BACKSPACE, null);
    for (const character of added) rfb.current?.sendKey(keysymOf(character), null);
    empty(element);
  };

  return (
    <>
      <div ref={place} className={`screen-place ${scaling}`} data-keys="own" role="application" aria-label={label} />
      <textarea
        ref={field}
        className="screen-field"
        defaultValue={FILLING}
        aria-label="Type into the screen"
        tabIndex={-1}
        autoCapitalize="off"
        autoComplete="off"
        spellCheck={false}
        onInput={type}
      />
    </>
  );
}

/** Nothing typed yet: the cursor stands behind what can be erased. */
function empty(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.value = FILLING;
  field.setSelectionRange(FILLING.length, FILLING.length);
}
