/**
 * Drives a headless Chromium by its own protocol (CDP), for tests of pages that
 * a service serves: goes to addresses, types, presses keys, looks and judges.
 *
 * @module
 */

import { CHROMIUM_FLAGS } from "../sdk/chromium.ts";
import { TempFolder } from "../sdk/temp_folder.ts";

/** How a page is looked at. */
export interface View {
  /** The width of the window in CSS pixels. */
  readonly width: number;
  /** The height of the window in CSS pixels. */
  readonly height: number;
  /** The colours that the reader's system asks for. */
  readonly scheme: "light" | "dark";
}

/** Longest wait for an answer of the browser, in milliseconds. */
const ANSWER_MS = 60_000;

/** More than the links, buttons and fields of any page that tests walk. */
const MAX_TABS = 100;

type Json = Readonly<Record<string, unknown>>;

/** A browser with one page. */
export class Browser implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #profile: TempFolder;
  readonly #said: Promise<string>;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Json) => void>();
  readonly #listeners = new Map<string, () => void>();
  /** What the page has complained about: errors and refusals of its policy. */
  readonly complaints: string[] = [];
  /** All that the page has sent, as text; see {@linkcode Browser.record}. */
  readonly requests: string[] = [];
  #sessionId: string | undefined;
  #sent = 0;

  private constructor(
    parts: {
      readonly child: Deno.ChildProcess;
      readonly profile: TempFolder;
      readonly said: Promise<string>;
      readonly socket: WebSocket;
    },
  ) {
    this.#child = parts.child;
    this.#profile = parts.profile;
    this.#said = parts.said;
    this.#socket = parts.socket;
    this.#socket.addEventListener("message", ({ data }) => {
      this.#hear(JSON.parse(data));
    });
  }

  /** Starts a browser. */
  static async open(): Promise<Browser> {
    const profile = await TempFolder.make();
    const child = new Deno.Command("chromium", {
      args: [
        ...CHROMIUM_FLAGS,
        "--remote-debugging-port=0",
        "--hide-scrollbars",
        `--user-data-dir=${profile.path}`,
        "about:blank",
      ],
      clearEnv: true,
      env: { PATH: Deno.env.get("PATH") ?? "", HOME: profile.path },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const lines = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    let address: string | undefined;
    while (address === undefined) {
      const { value, done } = await lines.read();
      if (done) throw new Error(`Cannot start a browser: ${heard}`);
      heard += value;
      address = /DevTools listening on (ws:\S+)/.exec(heard)?.[1];
    }
    const said = (async () => {
      while (!(await lines.read()).done);
      return heard;
    })();
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", reject, { once: true });
    });
    const browser = new Browser({ child, profile, said, socket });
    await browser.#attach();
    return browser;
  }

  async #attach(): Promise<void> {
    const { targetInfos } = await this.send("Target.getTargets");
    const page = (targetInfos as readonly Json[]).find(({ type }) =>
      type === "page"
    );
    const { sessionId } = await this.send("Target.attachToTarget", {
      targetId: page?.targetId,
      flatten: true,
    });
    this.#sessionId = sessionId as string;
    await this.send("Page.enable");
    await this.send("Runtime.enable");
    await this.send("Log.enable");
  }

  /** Sends a command of the protocol and gives its result. */
  async send(method: string, params: Json = {}): Promise<Json> {
    const id = ++this.#sent;
    const { promise, resolve, reject } = Promise.withResolvers<Json>();
    this.#waiting.set(id, resolve);
    const timer = setTimeout(
      () => reject(new Error(`Cannot go on: no answer to ${method}`)),
      ANSWER_MS,
    );
    this.#socket.send(
      JSON.stringify({ id, method, params, sessionId: this.#sessionId }),
    );
    const answer = await promise.finally(() => clearTimeout(timer));
    if (answer.error !== undefined) {
      throw new Error(`Cannot ${method}: ${JSON.stringify(answer.error)}`);
    }
    return answer.result as Json;
  }

  #hear(message: Json): void {
    const { id, method, params } = message;
    if (typeof id === "number") {
      this.#waiting.get(id)?.(message);
      this.#waiting.delete(id);
      return;
    }
    this.#listeners.get(String(method))?.();
    if (String(method).startsWith("Network.requestWillBeSent")) {
      this.requests.push(JSON.stringify(params));
    }
    const { entry, exceptionDetails } = (params ?? {}) as Json;
    const { level, text, url } = (entry ?? {}) as Json;
    if (level === "error") this.complaints.push(`${text} ${url ?? ""}`);
    if (exceptionDetails !== undefined) {
      this.complaints.push(JSON.stringify(exceptionDetails));
    }
  }

  /** Keeps address, header fields and body of each request from now on. */
  async record(): Promise<void> {
    await this.send("Network.enable", { maxPostDataSize: 1_048_576 });
  }

  /** Does something that leads to another page, and waits for that page. */
  async leave(act: () => Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#listeners.set("Page.loadEventFired", resolve);
    await act();
    await promise;
  }

  /** Goes to an address. */
  async go(url: string): Promise<void> {
    await this.leave(() => this.send("Page.navigate", { url }));
  }

  /** Sets the size of the window and the colours. */
  async look({ width, height, scheme }: View): Promise<void> {
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
    await this.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
  }

  /** Evaluates an expression in the page; a promise is awaited. */
  async evaluate(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) {
      throw new Error(`Cannot evaluate: ${JSON.stringify(exceptionDetails)}`);
    }
    return (result as Json).value;
  }

  /** Presses a key, such as `j` or `Enter`, or types a text. */
  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
      const code = CODES[key];
      const event = {
        key,
        text,
        ...(code === undefined
          ? {}
          : { windowsVirtualKeyCode: code, code: key }),
      };
      await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
      await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
    }
  }

  /**
   * Presses Tab until the focus is where a selector says.
   *
   * @throws {Error} When it does not lead there.
   */
  async walkTo(selector: string): Promise<void> {
    const isThere = () =>
      this.evaluate(
        `document.activeElement.matches(${JSON.stringify(selector)})`,
      );
    for (let tries = 0; !await isThere(); tries++) {
      if (tries === MAX_TABS) {
        throw new Error(`Cannot walk to ${selector}: Tab does not lead there`);
      }
      await this.press("Tab");
    }
  }

  /** Types a text into what has the focus. */
  async type(text: string): Promise<void> {
    await this.send("Input.insertText", { text });
  }

  /** A picture of what the window shows, as WebP. */
  async picture(): Promise<Uint8Array> {
    const { data } = await this.send("Page.captureScreenshot", {
      ...{ format: "webp", quality: 82 },
    });
    return Uint8Array.fromBase64(data as string);
  }

  /** Ends the browser and removes its profile. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sessionId = undefined;
    const closed = new Promise((resolve) =>
      this.#socket.addEventListener("close", resolve, { once: true })
    );
    await this.send("Browser.close").catch(() => {});
    await this.#child.status;
    await closed;
    await this.#said;
    await this.#profile[Symbol.asyncDispose]();
  }
}

/** Codes of keys that are no letters. */
const CODES: Readonly<Record<string, number>> = {
  Enter: 13,
  Escape: 27,
  Tab: 9,
  " ": 32,
};
