import { useEffect, useRef, useState } from "react";
import { askAgent } from "../api/agent";
import { ApiError } from "../api/errors";
import { readEvents } from "../api/sse";
import type { Sandbox } from "../api/types";
import { Icon } from "../ui";
import { readFrames } from "./frames";
import { useIsNear } from "./useIsNear";

const AGAIN_MS = 4_000;

/** A small live view: the screen of a desktop, else the last lines of its terminal. Only while it is on the page's screen. */
export function Preview({ sandbox }: { sandbox: Sandbox }) {
  const place = useRef<HTMLDivElement>(null);
  const isSeen = useIsNear(place, "40px");
  const isAwake = sandbox.state === "running" || sandbox.state === "snapshotting";
  return (
    <div ref={place} className={`preview ${isAwake ? "" : "asleep"}`}>
      {sandbox.has_desktop ? (
        <Screen sandbox={sandbox} live={isSeen && isAwake} />
      ) : (
        <Tail sandbox={sandbox} live={isSeen && isAwake} />
      )}
      {!isAwake && (
        <span className="moon">
          <Icon name="moon" size={22} />
        </span>
      )}
    </div>
  );
}

/** Runs `work` again and again until the signal, with a pause between; never while the page is hidden. */
async function keepTrying(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      // It fell asleep, or has no such thing: whoever wakes it starts us anew.
      if (error instanceof ApiError && [404, 409, 501].includes(error.status)) return;
    }
    await new Promise<void>((done) => {
      const timer = setTimeout(done, AGAIN_MS);
      signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
    });
  }
}

function Screen({ sandbox, live }: { sandbox: Sandbox; live: boolean }) {
  const { id, url } = sandbox;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    if (!live) return;
    const stop = new AbortController();
    void keepTrying(stop.signal, async () => {
      const response = await askAgent({ id, url }, "/desktop/frames", {
        quiet: true,
        query: { width: 480, every_ms: 1000 },
        signal: stop.signal,
      });
      for await (const frame of readFrames(response)) {
        const picture = await createImageBitmap(frame);
        const target = canvas.current;
        if (target) {
          target.width = picture.width;
          target.height = picture.height;
          target.getContext("2d")?.drawImage(picture, 0, 0);
          setDrawn(true);
        }
        picture.close();
      }
    });
    return () => stop.abort();
  }, [live, id, url]);
  return (
    <>
      <canvas ref={canvas} width={480} height={300} aria-hidden="true" hidden={!drawn} />
      {!drawn && (
        <span className="nothing">
          <Icon name="screen" size={22} />
        </span>
      )}
    </>
  );
}

interface TailMessage {
  command: string | null;
  lines: string[];
}

function Tail({ sandbox, live }: { sandbox: Sandbox; live: boolean }) {
  const { id, url } = sandbox;
  const [tail, setTail] = useState<TailMessage | null>(null);
  useEffect(() => {
    if (!live) return;
    const stop = new AbortController();
    void keepTrying(stop.signal, async () => {
      const response = await askAgent({ id, url }, "/tail", { quiet: true, query: { lines: 8 }, signal: stop.signal });
      for await (const { data } of readEvents(response)) setTail(JSON.parse(data) as TailMessage);
    });
    return () => stop.abort();
  }, [live, id, url]);
  const lines = tail?.lines ?? [];
  return lines.length > 0 ? (
    <pre className="tail" aria-hidden="true">
      {tail?.command && (
        <span className="prompt">
          $ {tail.command}
          {"\n"}
        </span>
      )}
      {lines.join("\n")}
    </pre>
  ) : (
    <span className="nothing">
      <Icon name="terminal" size={22} />
    </span>
  );
}
