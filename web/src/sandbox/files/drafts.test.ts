import { describe, expect, it } from "vitest";
import { afterSave, isUnsaved, withDraft } from "./drafts";

const draft = (text: string) => ({ text, modifiedAt: "2026-01-01T00:00:00Z", size: 3 });

describe("drafts", () => {
  it("keeps one for each file until it is saved or thrown away", () => {
    const two = withDraft(withDraft({}, "/a", draft("new")), "/b", draft("other"));
    expect(Object.keys(two)).toEqual(["/a", "/b"]);
    expect(withDraft(two, "/b", null)).toEqual({ "/a": draft("new") });
    expect(withDraft(two, "/c", null)).toEqual(two);
  });

  it("keeps what was typed while it was saved", () => {
    const file = { modifiedAt: "2026-01-02T00:00:00Z", size: 5 };
    expect(afterSave(draft("saved, and more"), "saved", file)).toEqual({ text: "saved, and more", ...file });
    expect(afterSave(draft("saved, and more"), "saved, and more", file)).toBeNull();
  });

  it("marks the file and the folders above it", () => {
    const drafts = withDraft({}, "/home/user/notes.txt", draft("new"));
    expect(["/home/user/notes.txt", "/home/user", "/home", "/home/use", "/etc"].map((path) => isUnsaved(drafts, path))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
