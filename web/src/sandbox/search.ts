/** What an address of a sandbox's tab may say besides the tab. */
export interface TabSearch {
  /** The folder that Files shows. */
  path?: string;
  /** The file that is open. */
  file?: string;
}

const absolute = (value: unknown): string | undefined => (typeof value === "string" && value.startsWith("/") ? value : undefined);

export const readTabSearch = (raw: Record<string, unknown>): TabSearch => ({
  path: absolute(raw.path),
  file: absolute(raw.file),
});
