// Numbers and times as people read them.

const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

/** Binary steps, as memory and disks are sold to people: 1536 → "1.5 KB". */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || Math.abs(value) >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${UNITS[unit]}`;
}

/** A share of one core: 0.034 → "3%", 1.5 → "150%". */
export function share(value: number): string {
  const percent = value * 100;
  return percent > 0 && percent < 1 ? "<1%" : `${Math.round(percent)}%`;
}

const STEPS: readonly [seconds: number, short: string, long: string][] = [
  [86_400, "d", "day"],
  [3_600, "h", "hour"],
  [60, "min", "minute"],
  [1, "s", "second"],
];

/** How long, in its one or two largest units: 5400 → "1 h 30 min". */
export function duration(seconds: number, parts: 1 | 2 = 2): string {
  let left = Math.max(0, Math.round(seconds));
  const words: string[] = [];
  for (const [size, short] of STEPS) {
    const count = Math.floor(left / size);
    if (count === 0) {
      if (words.length > 0) break; // no gaps: "1 d 5 s" helps nobody
      continue;
    }
    words.push(`${count} ${short}`);
    left -= count * size;
    if (words.length === parts) break;
  }
  return words.join(" ") || "0 s";
}

/** "just now", "4 min ago", "in 2 h". */
export function relative(at: number, now: number): string {
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) < 5) return "just now";
  const text = duration(Math.abs(seconds), 1);
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

export const moment = (at: number | string): string => MOMENT.format(new Date(at));
export const clock = (at: number | string): string => CLOCK.format(new Date(at));

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * A length of time as people type it: "90", "90s", "15m", "2h", "1d", "1h30m". Null when it is none.
 * Empty text is null as well: the caller knows whether that means "none".
 */
export function parseDuration(text: string): number | null {
  const words = text.trim().toLowerCase().replace(/\s+/g, "");
  if (/^\d+(\.\d+)?$/.test(words)) return Number(words);
  if (!/^(\d+(\.\d+)?(d|h|m|min|s))+$/.test(words)) return null;
  const sizes: Record<string, number> = { d: 86_400, h: 3_600, m: 60, min: 60, s: 1 };
  let total = 0;
  for (const [, count, unit] of words.matchAll(/(\d+(?:\.\d+)?)(d|h|min|m|s)/g))
    total += Number(count) * (sizes[unit ?? "s"] ?? 1);
  return total;
}
