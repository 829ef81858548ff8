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
 * Asks the registry for the version list of each package. Only a list counts: a
 * gateway's sign-in page answers with 200 too. Proxy variables and added
 * certificates are honoured, as `fetch` honours them.
 */
export async function askRegistry(
  { registryUrl, packages, timeoutMs = 5000 }: AskRegistryOptions,
): Promise<RegistryAnswer> {
  const shown = withoutCredentials(registryUrl);
  const base = parseBase(registryUrl);
  if (base === undefined) {
    return unavailable(`"${shown}" is not an address of a registry`);
  }
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    for (const name of packages) {
      const fault = await askForPackage(
        new URL(`${name}/meta.json`, base),
        signal,
      );
      if (fault !== undefined) return unavailable(`${shown} ${fault}`);
    }
    return { kind: "available", reason: `${shown} has them` };
  } catch (error) {
    return unavailable(
      signal.aborted
        ? `${shown} did not answer within ${timeoutMs / 1000} s`
        : `${shown} cannot be reached (${rootMessage(error)})`,
    );
  }
}

function unavailable(reason: string): RegistryAnswer {
  return { kind: "unavailable", reason };
}

/** Returns why the registry does not have a package, or `undefined`. */
async function askForPackage(
  url: URL,
  signal: AbortSignal,
): Promise<string | undefined> {
  const response = await fetch(url, { signal });
  const text = await response.text();
  if (!response.ok) return `answered ${response.status} for ${url.pathname}`;
  return hasVersions(text)
    ? undefined
    : `gave no version list for ${url.pathname}`;
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
