/** Colours of a terminal that go with the page, by day and by night. */

import type { ITheme } from "@xterm/xterm";
import type { Look } from "./session";

const DARK: ITheme = {
  background: "#0f1115",
  foreground: "#d5d9e0",
  cursor: "#6fc3a9",
  cursorAccent: "#0f1115",
  selectionBackground: "#2f4a43",
  black: "#1d2026",
  red: "#f28b82",
  green: "#6fcf97",
  yellow: "#f0b85a",
  blue: "#82b4f2",
  magenta: "#c99bf0",
  cyan: "#6cc7cf",
  white: "#c9ced6",
  brightBlack: "#7b8493",
  brightRed: "#ff9f97",
  brightGreen: "#8ee3b0",
  brightYellow: "#ffd083",
  brightBlue: "#a5cbff",
  brightMagenta: "#dcb8ff",
  brightCyan: "#8fdee5",
  brightWhite: "#f4f5f7",
  scrollbarSliderBackground: "#ffffff26",
  scrollbarSliderHoverBackground: "#ffffff40",
  scrollbarSliderActiveBackground: "#ffffff59",
};

const LIGHT: ITheme = {
  background: "#fdfdfb",
  foreground: "#23262b",
  cursor: "#2a6655",
  cursorAccent: "#fdfdfb",
  selectionBackground: "#cfe6dd",
  black: "#23262b",
  red: "#b3261e",
  green: "#1b7a45",
  yellow: "#8f5a00",
  blue: "#1f62b0",
  magenta: "#8436a8",
  cyan: "#0f7281",
  white: "#6d727b",
  brightBlack: "#6d727b",
  brightRed: "#c8382f",
  brightGreen: "#23874f",
  brightYellow: "#9a6400",
  brightBlue: "#2a70c4",
  brightMagenta: "#9a48bf",
  brightCyan: "#137f90",
  brightWhite: "#3d4149",
  scrollbarSliderBackground: "#0000001f",
  scrollbarSliderHoverBackground: "#00000038",
  scrollbarSliderActiveBackground: "#0000004d",
};

export function lookOf(isDark: boolean, screenReader: boolean): Look {
  const fontFamily = getComputedStyle(document.documentElement).getPropertyValue("--mono").trim() || "monospace";
  return { theme: isDark ? DARK : LIGHT, fontFamily, fontSize: 13, screenReader };
}
