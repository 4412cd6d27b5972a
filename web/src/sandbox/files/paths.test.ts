import { describe, expect, it } from "vitest";
import { baseOf, crumbsOf, join, nameProblem, parentOf, pictureType, textOf } from "./paths";

describe("paths", () => {
  it("go up and down", () => {
    expect([parentOf("/a/b"), parentOf("/a"), parentOf("/"), parentOf("/a/b/")]).toEqual(["/a", "/", "/", "/a"]);
    expect([join("/", "a"), join("/a", "b")]).toEqual(["/a", "/a/b"]);
    expect(baseOf("/a/b.txt")).toBe("b.txt");
  });

  it("have crumbs from the root on", () => {
    expect(crumbsOf("/home/user")).toEqual([
      { name: "/", path: "/" },
      { name: "home", path: "/home" },
      { name: "user", path: "/home/user" },
    ]);
    expect(crumbsOf("/")).toHaveLength(1);
  });
});

describe("nameProblem", () => {
  it("lets good names through and says what is wrong with others", () => {
    const taken = new Set(["here"]);
    expect(["new.txt", ".env", "ü b"].map((name) => nameProblem(name, taken))).toEqual([null, null, null]);
    for (const name of ["", " ", ".", "..", "a/b", "here", "x".repeat(256), "ü".repeat(128)])
      expect(nameProblem(name, taken), name).not.toBeNull();
  });
});

describe("content", () => {
  it("is a picture by its name", () => {
    expect([pictureType("/a/B.PNG"), pictureType("x.svg"), pictureType("png"), pictureType("a.txt")]).toEqual([
      "image/png",
      "image/svg+xml",
      "image/png",
      null,
    ]);
  });

  it("is text if it can be read as such", () => {
    expect(textOf(new TextEncoder().encode("grüß\n").buffer)).toBe("grüß\n");
    expect(textOf(Uint8Array.from([0xff, 0xfe, 0x41]).buffer)).toBeNull();
    expect(textOf(Uint8Array.from([0x41, 0, 0x42]).buffer)).toBeNull();
  });
});
