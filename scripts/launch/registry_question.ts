/**
 * Asks the registry whether it can provide the `@std` packages.
 *
 * @module
 */

/** The answer of the registry. */
export interface RegistryAnswer {
  /** Whether the packages can be downloaded. */
  readonly kind: "available" | "unavailable";
  /** Why it is so, as the end of a sentence that begins with "because". */
  readonly reason: string;
}

/** Options of {@linkcode askRegistry}. */
export interface AskRegistryOptions {
  /** The base URL of the registry, as in `JSR_URL`. */
  readonly registryUrl: string;
  /** The names of the packages, such as `@std/yaml`. */
  readonly packages: readonly string[];
  /**
   * How long to wait for all answers together, in milliseconds.
   *
   * @default {5000}
   */
  readonly timeoutMs?: number;
}

/** The registry that Deno asks when `JSR_URL` is not set. */
export const DEFAULT_REGISTRY_URL = "https://jsr.io/";

/**
 * Asks the registry for the version list of every package at once. Only a list
 * counts: a gateway's sign-in page answers with 200 too. Proxy variables and
 * added certificates are honoured, as `fetch` honours them.
 */
export async function askRegistry(
  options: AskRegistryOptions,
): Promise<RegistryAnswer> {
  const { registryUrl, packages, timeoutMs = 5000 } = options;
  const shown = withoutCredentials(registryUrl);
  const base = parseBase(registryUrl);
  if (base === undefined) {
    return unavailable(`"${shown}" is no address of a registry`);
  }
  const timeout = AbortSignal.timeout(timeoutMs);
  const refusal = new AbortController();
  const signal = AbortSignal.any([timeout, refusal.signal]);
  // One refusal decides: the other requests are then cancelled, and their ends
  // are awaited.
  const answers = await Promise.allSettled(packages.map(async (name) => {
    try {
      await askForPackage(new URL(`${name}/meta.json`, base), signal);
    } catch (error) {
      refusal.abort(error);
      throw error;
    }
  }));
  if (answers.every((answer) => answer.status === "fulfilled")) {
    return { kind: "available", reason: `${shown} has them` };
  }
  if (timeout.aborted) {
    return unavailable(`${shown} did not answer within ${timeoutMs / 1000} s`);
  }
  return unavailable(`${shown} ${describe(refusal.signal.reason)}`);
}

/** Thrown when the registry answers, but without the package. */
class RefusalError extends Error {
  override readonly name = "RefusalError";
}

function describe(error: unknown): string {
  return error instanceof RefusalError
    ? error.message
    : `cannot be reached (${rootMessage(error)})`;
}

function unavailable(reason: string): RegistryAnswer {
  return { kind: "unavailable", reason };
}

async function askForPackage(url: URL, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { signal });
  const text = await response.text();
  if (!response.ok) {
    throw new RefusalError(`answered ${response.status} for ${url.pathname}`);
  }
  if (!hasVersions(text)) {
    throw new RefusalError(`gave no version list for ${url.pathname}`);
  }
}

function hasVersions(text: string): boolean {
  try {
    const meta: unknown = JSON.parse(text);
    return typeof meta === "object" && meta !== null && "versions" in meta;
  } catch {
    return false;
  }
}

/**
 * Adds the slash at the end of the URL if it is missing, since Deno accepts
 * both forms.
 */
function parseBase(registryUrl: string): URL | undefined {
  const text = registryUrl.endsWith("/") ? registryUrl : `${registryUrl}/`;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function withoutCredentials(address: string): string {
  return address.replace(/\/\/[^/@]*@/, "//");
}

/**
 * Returns the message of the innermost cause: it leaves out the URL, which the
 * sentence already contains.
 */
function rootMessage(error: unknown): string {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) {
    current = current.cause;
  }
  const message = current instanceof Error ? current.message : String(current);
  return message
    .split("\n", 1)[0]!
    .replace(/^error sending request (for url|from) .*?\): /, "")
    .replace(/^client error \(Connect\): /, "");
}
