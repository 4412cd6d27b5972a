/** Hands bytes to the browser's own downloads. */
export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  // Never opened as a page, whatever it is: its type is taken away.
  link.href = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
