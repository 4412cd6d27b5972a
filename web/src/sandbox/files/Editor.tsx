import { useRef, type KeyboardEvent } from "react";
import { tab } from "./indent";

/** Plain text with line numbers. Tab indents; Escape, then Tab, moves on. */
export function Editor({
  text,
  label,
  onChange,
  onSave,
}: {
  text: string;
  label: string;
  onChange: (text: string) => void;
  onSave: () => void;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLPreElement>(null);
  const leaving = useRef(false);
  const count = text.split("\n").length;

  const press = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      onSave();
      return;
    }
    if (event.key === "Tab" && !leaving.current && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      const { selectionStart, selectionEnd } = event.currentTarget;
      put(event.currentTarget, tab(event.currentTarget.value, selectionStart, selectionEnd, event.shiftKey));
    }
    leaving.current = event.key === "Escape";
  };
  return (
    <div className="editor">
      <pre ref={numbers} className="editor-numbers" aria-hidden="true">
        {Array.from({ length: count }, (_, index) => index + 1).join("\n")}
      </pre>
      <textarea
        ref={area}
        className="editor-text"
        aria-label={label}
        value={text}
        wrap="off"
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        autoCorrect="off"
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={press}
        onScroll={(event) =>
          numbers.current && (numbers.current.style.transform = `translateY(${-event.currentTarget.scrollTop}px)`)
        }
      />
    </div>
  );
}

function put(area: HTMLTextAreaElement, { start, end, text, from, to }: ReturnType<typeof tab>): void {
  area.setSelectionRange(start, end);
  // The one way to change a field's text that its undo knows of.
  if (!document.execCommand("insertText", false, text)) area.setRangeText(text, start, end);
  area.setSelectionRange(from, to);
}
