/**
 * A client of the Model Context Protocol made of plain `fetch`, for tests that
 * look at statuses, header fields and events.
 *
 * @module
 */

/** A message as it came. */
// deno-lint-ignore no-explicit-any
export type AnyMessage = any;

/** An event as it came. */
export interface ServerEvent {
  /** The id; undefined without one. */
  readonly id: string | undefined;
  /** The type. */
  readonly event: string;
  /** The data. */
  readonly data: string;
}

/** A response to a POST. */
export interface PostAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** The header fields. */
  readonly headers: Headers;
  /** The messages, of a body of JSON or of a stream that has ended. */
  readonly messages: readonly AnyMessage[];
  /** The last message, which is the answer; undefined without one. */
  readonly answer: AnyMessage;
}

/** How long a test waits for an answer, so that it always ends. */
const ANSWER_MS = 60_000;

/** Sends messages to one endpoint with the same header fields. */
export class PlainMcpClient {
  /** The header fields of each request; a test may change them. */
  readonly headers: Record<string, string>;
  #ids = 0;

  /** A client of the endpoint at `url`. */
  constructor(
    readonly url: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.headers = { ...headers };
  }

  /** Sends a body as it is. */
  async send(
    body: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PostAnswer> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...this.headers,
        ...headers,
      },
      body,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const type = response.headers.get("content-type") ?? "";
    const messages: AnyMessage[] = [];
    if (type.startsWith("text/event-stream")) {
      for await (const { data } of readEvents(response)) {
        if (data !== "") messages.push(JSON.parse(data));
      }
    } else {
      const text = await response.text();
      if (text !== "") messages.push(JSON.parse(text));
    }
    const { status, headers: fields } = response;
    return { status, headers: fields, messages, answer: messages.at(-1) };
  }

  /** Sends a request with a new id. */
  async ask(
    method: string,
    params: object = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PostAnswer> {
    const id = ++this.#ids;
    return await this.send(
      JSON.stringify({ jsonrpc: "2.0", id, method, params }),
      headers,
    );
  }

  /** Opens a session, whose id later requests carry. */
  async open(protocolVersion = "2025-06-18"): Promise<PostAnswer> {
    const opened = await this.ask("initialize", {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    const id = opened.headers.get("mcp-session-id");
    if (id === null) return opened;
    this.headers["mcp-session-id"] = id;
    this.headers["mcp-protocol-version"] = protocolVersion;
    await this.send(
      JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
    );
    return opened;
  }

  /** Calls a tool and returns its result. */
  async call(
    name: string,
    args: object = {},
    meta: object = {},
  ): Promise<AnyMessage> {
    const params = { name, arguments: args, _meta: meta };
    const { answer } = await this.ask("tools/call", params);
    return answer.result ?? answer;
  }
}

/** Yields the events of a stream as they come; comments are left out. */
export async function* readEvents(
  response: Response,
): AsyncGenerator<ServerEvent> {
  let text = "";
  const decoded = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
  for await (const piece of decoded) {
    text += piece;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = readEvent(block);
      if (event !== undefined) yield event;
    }
  }
}

function readEvent(block: string): ServerEvent | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const match = /^(id|event|data): ?(.*)$/.exec(line);
    if (match?.[1] === "id") id = match[2];
    else if (match?.[1] === "event") event = match[2] ?? "";
    else if (match?.[1] === "data") data.push(match[2] ?? "");
  }
  return data.length === 0 ? undefined : { id, event, data: data.join("\n") };
}
