/** An answer of the API, or of a sandbox's agent, that is no success. `message` is prose meant for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly facts: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** The server could not be reached at all. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor(cause: unknown) {
    super("The server does not answer. It may be restarting; your sandboxes live on meanwhile.", { cause });
  }
}

/** A key that was typed again is none. The session goes on: no 401. */
export class WrongKey extends ApiError {
  constructor(cause: ApiError) {
    super(403, cause.code, "The server does not know this API key. Check it and try again.", cause.facts);
  }
}

export const isUnauthenticated = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

export function messageOf(error: unknown): string {
  if (error instanceof ApiError || error instanceof Unreachable) return error.message;
  return error instanceof Error ? `Something broke in this page: ${error.message}` : "Something broke in this page.";
}

/** The error that a response carries, in Roost's shape or, from other programs, as well as can be told. */
export async function errorOf(response: Response): Promise<ApiError> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  if (body !== null && typeof body === "object") {
    const detail: unknown = "error" in body ? body.error : body;
    if (detail !== null && typeof detail === "object" && "message" in detail) {
      const { code, message, ...facts } = detail as Record<string, unknown>;
      return new ApiError(response.status, String(code ?? "unknown"), String(message), facts);
    }
  }
  return new ApiError(response.status, "unknown", `The server answered ${response.status} ${response.statusText}.`.trim());
}
