import type { Sandbox } from "../../api/types";
import { notify, notifyError } from "../../ui";
import { read, readFolder } from "../agent/files";
import { save } from "../save";
import { baseOf } from "./paths";

export const download = (sandbox: Sandbox, path: string): void =>
  void read(sandbox, path).then((content) => save(content, baseOf(path)), notifyError);

/** With all that is in it. It is packed inside and comes as one file. */
export function downloadFolder(sandbox: Sandbox, path: string): void {
  const name = `${baseOf(path) || "root"}.tar.gz`;
  notify(`${name} is being packed; it appears in your downloads.`);
  void readFolder(sandbox, path).then((content) => save(content, name), notifyError);
}
