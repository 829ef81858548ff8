/**
 * HTTP requests to the service, bounded in time.
 *
 * @module
 */

const TIMEOUT_MS = 10_000;

/** An answer whose body has been read. */
export interface HttpAnswer {
  /** The status code. */
  readonly status: number;
  /** The headers. */
  readonly headers: Headers;
  /** The body. */
  readonly text: string;
}

/** What a test sends. */
export interface HttpRequestOptions {
  /**
   * The method.
   *
   * @default "GET"
   */
  readonly method?: string;
  /**
   * The body.
   *
   * @default none
   */
  readonly body?: BodyInit;
  /**
   * Header fields.
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

/** Posts to `/json`; a value that is no text is sent as JSON. */
export async function postJson(
  baseUrl: string,
  body: unknown,
): Promise<HttpAnswer> {
  return await request(`${baseUrl}/json`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** The statistics of the debug port by name; timers are left out. */
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

/** One statistic of the debug port; 0 when it is not there. */
export async function readStat(
  debugUrl: string,
  name: string,
): Promise<number> {
  return (await readStats(debugUrl, name)).get(name) ?? 0;
}
