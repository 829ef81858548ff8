/**
 * Runs programs in pages of a headless Chromium.
 *
 * @module
 */

import { PageServer, type PageServerOptions } from "./page_server.ts";
import { TempFolder } from "./temp_folder.ts";

/** Flags for a browser that asks nobody but the test for anything. */
export const CHROMIUM_FLAGS: readonly string[] = [
  "--headless",
  // The sandbox needs a user other than root, or permissions that containers do
  // not have. The page is the test's own, and nothing else is loaded.
  "--no-sandbox",
  // Containers limit `/dev/shm` to 64 MiB.
  "--disable-dev-shm-usage",
  "--disable-gpu",
  // Keeps the browser from making requests to anything but the test.
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-extensions",
  "--no-proxy-server",
];
const STOP_MS = 10_000;

/** A browser process, from its start to its end. */
class Chromium implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #said: Promise<string>;
  readonly #profile: TempFolder;

  private constructor(url: string, profile: TempFolder) {
    this.#profile = profile;
    this.#child = new Deno.Command("chromium", {
      args: [...CHROMIUM_FLAGS, `--user-data-dir=${profile.path}`, url],
      clearEnv: true,
      // Files that the browser writes outside of its profile go into the same
      // folder.
      env: { PATH: Deno.env.get("PATH") ?? "", HOME: profile.path },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#said = new Response(this.#child.stderr).text();
  }

  /**
   * Starts a browser with a profile of its own, which opens the page at `url`.
   */
  static async open(url: string): Promise<Chromium> {
    return new Chromium(url, await TempFolder.make());
  }

  /** The browser's error output, once the browser has ended. */
  get said(): Promise<string> {
    return this.#said;
  }

  /** Resolves when the browser has ended. */
  async ended(): Promise<void> {
    await this.#child.status;
  }

  /** Ends the browser and removes its profile. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal("SIGTERM");
    const timer = setTimeout(() => this.#signal("SIGKILL"), STOP_MS);
    await this.#child.status;
    clearTimeout(timer);
    await this.#said;
    await this.#profile[Symbol.asyncDispose]();
  }

  #signal(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      // The browser has already ended.
      if (!(error instanceof TypeError)) throw error;
    }
  }
}

/**
 * Longest wait for a report, in milliseconds; enough for the first start of a
 * browser on a busy machine.
 */
const PAGE_MS = 60_000;

/**
 * Runs a program in a page and returns its report.
 *
 * @throws {Error} When there is no report in time; the message contains the
 * browser's error output.
 */
export async function openPage(parts: PageServerOptions): Promise<unknown> {
  await using server = new PageServer(parts);
  const chromium = await Chromium.open(server.origin);
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), PAGE_MS);
  try {
    const report = await Promise.race([server.report, chromium.ended(), late]);
    if (report !== undefined) return report;
  } finally {
    clearTimeout(timer);
    await chromium[Symbol.asyncDispose]();
  }
  throw new Error(`Cannot get a report of the page: ${await chromium.said}`);
}
