import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../api/types";
import { heirOf } from "./heir";

const network = {
  internet: true,
  allow: ["10.0.0.1"],
  deny: [],
  dns: null,
  https_ports: [443],
  mask_host: null,
  proxy: null,
  public: true,
  rules: { "api.example.com": { Authorization: "********" } },
};
const sandbox = {
  id: "i1",
  metadata: { team: "red" },
  network,
  policy: { idle_s: 300, timeout_s: 60, on_timeout: "kill", wake_on_traffic: false, keep_memory: true, idle_cpu_share: 0.1 },
} as unknown as Sandbox;

describe("heirOf", () => {
  it("sleeps as the other does, and reaches what it may reach", () => {
    const heir = heirOf(sandbox, "s1");
    expect(heir).toMatchObject({
      template: "s1",
      metadata: { team: "red" },
      idle_s: 300,
      on_timeout: "kill",
      wake_on_traffic: false,
    });
    expect(heir.network).toMatchObject({ internet: true, allow: ["10.0.0.1"] });
    expect(heir).not.toHaveProperty("timeout_s");
    expect(heir.network).toHaveProperty("rules", {});
  });

  it("reaches nothing when it would have gone through a proxy", () => {
    const behind = {
      ...sandbox,
      network: { ...network, proxy: { address: "10.0.0.9:1080", username: "ada" } },
    } as unknown as Sandbox;
    expect(heirOf(behind, "s1").network).toMatchObject({ internet: false });
    expect(heirOf(behind, "s1").network).not.toHaveProperty("proxy");
  });
});
