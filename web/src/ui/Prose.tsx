/** The server's words: what stands between backticks is to be typed, and looks like it. */
export function Prose({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
