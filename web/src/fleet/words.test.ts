import { describe, expect, it } from "vitest";
import type { Activity, Reason, Sandbox } from "../api/types";
import { mainReason, statusLine } from "./words";

const now = Date.parse("2026-01-01T12:00:00Z");
const reason = (kind: string, detail = ""): Reason => ({ kind, detail, since: null, until: null });
const activity = (
  reasons: Reason[],
  sleeps_at: string | null = null,
  then: Activity["then"] = sleeps_at ? "pause" : null,
): Activity => ({ awake: true, dozing: false, awake_because: reasons, sleeps_at, then });
const sandbox = (state: Sandbox["state"], more: Partial<Sandbox> = {}): Sandbox =>
  ({ state, changed_at: "2026-01-01T10:00:00Z", reason: null, ...more }) as Sandbox;

describe("why a sandbox is awake", () => {
  it("is what matters most", () => {
    expect(mainReason([reason("always"), reason("cpu"), reason("hold", "demo")])?.kind).toBe("hold");
    expect(mainReason([])).toBeUndefined();
  });

  it("is said in one line, what comes next first", () => {
    const four = "2026-01-01T12:04:00Z";
    expect(statusLine(sandbox("running"), activity([reason("cpu", "it used 34% of a core")], four), now)).toBe(
      "Sleeps in 4 min · it uses 34% of a core",
    );
    expect(statusLine(sandbox("running"), activity([reason("deadline")], four, "kill"), now)).toBe(
      "Ends in 4 min · its time is not up",
    );
    expect(statusLine(sandbox("running"), activity([reason("always")]), now)).toBe("Awake: no idle policy");
    expect(statusLine(sandbox("running"), activity([]), now)).toBe("Awake for 2 h");
    expect(statusLine(sandbox("running"), activity([reason("later-kind", "its own words")]), now)).toBe("Awake: its own words");
    expect(statusLine(sandbox("running"), activity([], "2026-01-01T11:00:00Z"), now)).toBe("Sleeps now");
  });

  it("is not asked of those that are not", () => {
    expect(statusLine(sandbox("paused"), activity([reason("cpu", "old")]), now)).toBe("Asleep for 2 h");
    expect(statusLine(sandbox("paused"), { ...activity([]), dozing: true }, now)).toBe("Dozing for 2 h");
    expect(statusLine(sandbox("resuming"), activity([]), now)).toBe("Waking …");
    expect(statusLine(sandbox("dead", { reason: "killed" }), activity([]), now)).toBe("killed");
  });
});
