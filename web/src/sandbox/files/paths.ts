/** Paths and what their names tell. */

export function parentOf(path: string): string {
  const cut = path.replace(/\/+$/, "").lastIndexOf("/");
  return cut <= 0 ? "/" : path.slice(0, cut);
}

export const join = (folder: string, name: string): string => (folder.endsWith("/") ? folder + name : `${folder}/${name}`);

export const baseOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Whether a path is that of a folder, or of something in it. */
export const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(join(folder, ""));

export interface Crumb {
  name: string;
  path: string;
}

export function crumbsOf(path: string): Crumb[] {
  const crumbs: Crumb[] = [{ name: "/", path: "/" }];
  for (const name of path.split("/").filter(Boolean)) crumbs.push({ name, path: join(crumbs[crumbs.length - 1]!.path, name) });
  return crumbs;
}

/** What is wrong with a name for a file, or null. */
export function nameProblem(name: string, taken: ReadonlySet<string>): string | null {
  if (name.trim() === "") return "A name is needed.";
  if (name === "." || name === "..") return "This name is taken by the system.";
  if (name.includes("/")) return "A name cannot hold a slash.";
  if (name.includes("\0")) return "A name cannot hold a zero byte.";
  if (new TextEncoder().encode(name).length > 255) return "A name can have 255 bytes.";
  return taken.has(name) ? "This name is taken." : null;
}

const PICTURES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
  bmp: "image/bmp",
  ico: "image/x-icon",
};

/** The type of a picture by its name, or null. */
export const pictureType = (path: string): string | null => PICTURES[path.slice(path.lastIndexOf(".") + 1).toLowerCase()] ?? null;

/** Text, or null for bytes that are none. */
export function textOf(content: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
