/**
 * Runs a public HTTP/1.1 server during a test.
 *
 * @module
 */

import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../http/exchange.ts";
import { Http1Server } from "../server.ts";
import { RawClient } from "./raw_client.ts";

/** What a test works with. */
export interface PublicServerTest {
  /** The server, which runs. */
  readonly server: Http1Server;
  /** Its port. */
  readonly port: number;
  /** What it logs. */
  readonly logger: RecordingLogger;
  /** Connects to it; the connection ends with the test. */
  readonly connect: () => Promise<RawClient>;
}

/** A handler, and options of the server that differ from the defaults. */
export type TestServerOptions =
  & Partial<ConstructorParameters<typeof Http1Server>[0]>
  & { readonly handler: HttpHandler };

/** Runs a server while `use` runs. */
export async function withTestServer(
  options: TestServerOptions,
  use: (test: PublicServerTest) => Promise<void>,
): Promise<void> {
  const logger = new RecordingLogger();
  const server = new Http1Server({
    hostname: "127.0.0.1",
    port: 0,
    logger,
    ...options,
  });
  const { port } = await server.start();
  const clients: RawClient[] = [];
  const connect = async (): Promise<RawClient> => {
    const client = await RawClient.connect(port);
    clients.push(client);
    return client;
  };
  try {
    await use({ server, port, logger, connect });
  } finally {
    for (const client of clients) client.close();
    await server.stop(5_000);
  }
}

/** The answer to a request of `fetch`, by a server of its own. */
export async function fetchAnswer(
  options: TestServerOptions,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const { promise, resolve } = Promise.withResolvers<Response>();
  await withTestServer(options, async ({ port }) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const bytes = await answer.arrayBuffer();
    resolve(new Response(bytes, answer));
  });
  return await promise;
}

/** Answers with what it was sent: "POST /path body". */
export async function echo(request: HttpRequest): Promise<HttpResponse> {
  const body = await request.body(65_536);
  const text = body.kind === "ok"
    ? new TextDecoder().decode(body.bytes)
    : body.kind;
  return {
    status: 200,
    headers: { "content-type": "text/plain" },
    body: `${request.method} ${request.target} ${text}`,
  };
}
