/** The desktop's own API, for what RFB has no words for. */

import { askAgent } from "../../api/agent";
import type { Door, Reach } from "./door";

export const screenshot = async (door: Door, reach: Reach = {}): Promise<Blob> =>
  (await askAgent(door, "/desktop/screenshot", { ...reach, query: { format: "png" } })).blob();

export const clipboard = async (door: Door, reach: Reach = {}): Promise<string> =>
  ((await (await askAgent(door, "/desktop/clipboard", reach)).json()) as { text: string }).text;
