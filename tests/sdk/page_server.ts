/**
 * Serves a page that runs a program, and takes its report.
 *
 * @module
 */

/** Options of {@linkcode PageServer}. */
export interface PageServerOptions {
  /**
   * The folder with `program.mjs` and what that imports. It exports `run`, which gets
   * the options and gives the report.
   */
  readonly folder: string;
  /** What the page runs the program with; `origin` is the page's. */
  readonly optionsAt: (origin: string) => unknown;
}

/** Below it, everything has moved to somewhere else. */
export const MOVED_PATH = "/moved";

const PAGE = `<!doctype html><meta charset="utf-8"><title>program</title>
<script type="module">
const tell = (body) => fetch("/report", { method: "POST", body });
addEventListener("unhandledrejection", ({ reason }) =>
  tell(JSON.stringify({ unhandled: String(reason) })));
try {
  const { run } = await import("./program.mjs");
  const options = await (await fetch("/options")).json();
  const report = await run(options);
  // A rejection that nobody handles is told of after this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  await tell(JSON.stringify(report));
} catch (error) {
  await tell(JSON.stringify({ thrown: String(error?.stack ?? error) }));
}
</script>`;

/** A server on this machine, at an origin of its own. */
export class PageServer implements AsyncDisposable {
  /** The first report of the page. */
  readonly report: Promise<unknown>;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #parts: PageServerOptions;
  readonly #tell: (report: unknown) => void;

  /** Starts to serve. */
  constructor(parts: PageServerOptions) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.report = promise;
    this.#tell = resolve;
    this.#parts = parts;
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  /** The page's origin. */
  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Stops serving. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { folder, optionsAt } = this.#parts;
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(MOVED_PATH)) {
      return Response.redirect(new URL("/options", this.origin), 307);
    }
    if (/^\/\w+\.mjs$/.test(pathname)) {
      return new Response(await Deno.readTextFile(folder + pathname), {
        headers: { "content-type": "text/javascript" },
      });
    }
    switch (pathname) {
      case "/":
        return new Response(PAGE, { headers: { "content-type": "text/html" } });
      case "/options":
        return Response.json(optionsAt(this.origin));
      case "/report":
        this.#tell(await request.json());
        return new Response(null, { status: 204 });
      default:
        return new Response(null, { status: 404 });
    }
  }
}
