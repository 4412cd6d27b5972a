import type { Question } from "../api/types";

/** Nothing is answered by accident: only a question with a single choice has it chosen. */
export const initialChoice = (question: Pick<Question, "choices">): string | null =>
  question.choices.length === 1 ? (question.choices[0] ?? null) : null;

export const needsText = (question: Pick<Question, "choices">, text: string): boolean =>
  question.choices.length === 0 && text.trim() === "";
