import { describe, expect, it } from "vitest";
import type { Policy } from "../../api/types";
import { networkChange, pairsText, policyChange, readList, readPairs, readTime, timeText } from "./fields";

describe("times", () => {
  it("go there and back", () => {
    for (const seconds of [null, 1, 90, 7200, 5400, 86400, 100000])
      expect(readTime(timeText(seconds)), String(seconds)).toEqual({ value: seconds });
  });

  it("are refused when they are none", () => {
    expect(readTime("soon")).toHaveProperty("problem");
    expect(readTime("0")).toHaveProperty("problem");
  });
});

describe("pairs", () => {
  it("go there and back", () => {
    const pairs = { team: "a b", equation: "x=1" };
    expect(readPairs(pairsText(pairs))).toEqual({ value: pairs });
    expect(readPairs("\n a = 1 \n")).toEqual({ value: { a: "1" } });
  });

  it("are refused when they are none", () => {
    for (const text of ["name", "=value", "a=1\na=2"]) expect(readPairs(text), text).toHaveProperty("problem");
  });
});

describe("changes", () => {
  const policy: Policy = {
    timeout_s: null,
    on_timeout: "pause",
    idle_s: 60,
    idle_cpu_share: 0.05,
    wake_on_traffic: true,
    keep_memory: true,
  };

  it("hold only what differs", () => {
    expect(policyChange(policy, policy)).toEqual({});
    expect(policyChange(policy, { ...policy, idle_s: null, on_timeout: "kill" })).toEqual({ idle_s: null, on_timeout: "kill" });
  });

  it("of the network too", () => {
    const network = { internet: true, allow: ["1.1.1.1"], deny: [], public: true };
    expect(networkChange(network, { ...network, allow: [...network.allow] })).toEqual({});
    expect(networkChange(network, { ...network, internet: false, deny: ["0.0.0.0/0"] })).toEqual({
      internet: false,
      deny: ["0.0.0.0/0"],
    });
  });

  it("read lists however they are written", () => {
    expect(readList("1.1.1.1, 10.0.0.0/8\nexample.com  1.1.1.1")).toEqual(["1.1.1.1", "10.0.0.0/8", "example.com"]);
  });
});
