/**
 * Sends HTTP requests to the service, with a timeout.
 *
 * @module
 */

const TIMEOUT_MS = 10_000;

/** A response whose body has been read. */
export interface HttpAnswer {
  /** The HTTP status code. */
  readonly status: number;
  /** The response headers. */
  readonly headers: Headers;
  /** The body as text. */
  readonly text: string;
}

/** Options of a request. */
export interface HttpRequestOptions {
  /**
   * The HTTP method.
   *
   * @default "GET"
   */
  readonly method?: string;
  /**
   * The body of the request.
   *
   * @default none
   */
  readonly body?: BodyInit;
  /**
   * Header fields of the request.
   *
   * @default those of `fetch`
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request. */
export async function request(
  url: string,
  options: HttpRequestOptions = {},
): Promise<HttpAnswer> {
  const response = await fetch(url, {
    ...options,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** Posts a body to `/json`; a value other than a string is sent as JSON. */
export async function postJson(
  baseUrl: string,
  body: unknown,
): Promise<HttpAnswer> {
  return await request(`${baseUrl}/json`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Returns the statistics of the debug port by name, without timers. */
export async function readStats(
  debugUrl: string,
  filter = "",
): Promise<ReadonlyMap<string, number>> {
  const { text } = await request(
    `${debugUrl}/stats?filter=${encodeURIComponent(filter)}`,
  );
  return new Map(
    text.split("\n").map((line): [string, number] => {
      const at = line.lastIndexOf(": ");
      return [line.slice(0, at), Number(line.slice(at + 2))];
    }),
  );
}

/** Returns a statistic of the debug port; 0 when it does not exist. */
export async function readStat(
  debugUrl: string,
  name: string,
): Promise<number> {
  return (await readStats(debugUrl, name)).get(name) ?? 0;
}
