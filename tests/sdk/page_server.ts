/**
 * Serves a page that runs a program, and receives the program's report.
 *
 * @module
 */

/** Options of {@linkcode PageServer}. */
export interface PageServerOptions {
  /**
   * The folder with `program.mjs` and the files that it imports. The module
   * exports `run`, which takes the options and returns the report.
   */
  readonly folder: string;
  /** Returns the options of the program; `origin` is that of the page. */
  readonly optionsAt: (origin: string) => unknown;
}

/** A path below which every request is redirected to `/options`. */
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

/** A server on this machine, with an origin of its own. */
export class PageServer implements AsyncDisposable {
  /** Resolves with the first report of the page. */
  readonly report: Promise<unknown>;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #parts: PageServerOptions;
  readonly #tell: (report: unknown) => void;

  /** Starts to serve the page. */
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

  /** The origin of the page. */
  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Stops the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { folder, optionsAt } = this.#parts;
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(MOVED_PATH)) {
      return Response.redirect(new URL("/options", this.origin), 307);
    }
    if (/^\/[\w/]+\.m?js$/.test(pathname)) {
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
