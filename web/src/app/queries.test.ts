import { expect, it } from "vitest";
import { keys } from "../api/keys";
import type { Sandbox, State } from "../api/types";
import { makeQueryClient } from "./queries";

const record = (revision: number, state: State): Sandbox => ({ id: "a", revision, state }) as Sandbox;

it("keeps the newest record of a sandbox, whoever brings an older one", async () => {
  const client = makeQueryClient();
  const known = () => client.getQueryData<Sandbox>(keys.sandbox("a"))?.state;
  client.setQueryData(keys.sandbox("a"), record(2, "running"));
  client.setQueryData(keys.sandbox("a"), record(1, "resuming"));
  expect(known()).toBe("running");
  await client.fetchQuery({ queryKey: keys.sandbox("a"), queryFn: () => record(1, "resuming"), staleTime: 0 });
  expect(known()).toBe("running");
  client.setQueryData(keys.sandbox("a"), record(3, "paused"));
  expect(known()).toBe("paused");
});
