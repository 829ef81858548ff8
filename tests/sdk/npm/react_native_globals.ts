/**
 * What React Native adds to its engine Hermes, for programs that run in Hermes
 * alone: timers, requests and random bytes, which the process outside does, and
 * what newer versions of Hermes have that the one on npm lacks. There are no
 * `crypto.subtle`, `TextDecoder` and streams.
 *
 * @module
 */

/** Writes a line; Hermes has it. */
declare function print(line: string): void;

/** An answer of the process outside to a request. */
interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly bytes: readonly number[];
}

let calls = 0;
const waiting = new Map<number, (answer?: Answer) => void>();

function ask(question: object, then: (answer?: Answer) => void): number {
  const id = ++calls;
  waiting.set(id, then);
  print("@" + JSON.stringify({ ...question, id }));
  return id;
}

function toBytes(body: string | ArrayBuffer | ArrayBufferView): number[] {
  if (typeof body === "string") return [...new TextEncoder().encode(body)];
  return ArrayBuffer.isView(body)
    ? [...new Uint8Array(body.buffer, body.byteOffset, body.byteLength)]
    : [...new Uint8Array(body)];
}

/** The part of `XMLHttpRequest` that the package `whatwg-fetch` uses. */
class Request {
  status = 0;
  statusText = "";
  responseType = "";
  response: ArrayBuffer | undefined;
  onload = () => {};
  onerror = () => {};
  onabort = () => {};
  #sent = { method: "", url: "", headers: [] as (readonly string[])[] };
  #received: Answer["headers"] = [];

  open(method: string, url: string): void {
    this.#sent = { method, url, headers: [] };
  }

  setRequestHeader(name: string, value: string): void {
    this.#sent.headers.push([name, value]);
  }

  getAllResponseHeaders(): string {
    return this.#received.map((field) => `${field.join(": ")}\r\n`).join("");
  }

  send(body: Parameters<typeof toBytes>[0] | null): void {
    const bytes = body === null ? null : toBytes(body);
    ask({ kind: "request", ...this.#sent, bytes }, (answer) => {
      if (answer === undefined) return this.onerror();
      this.status = answer.status;
      this.#received = answer.headers;
      this.response = Uint8Array.from(answer.bytes).buffer;
      this.onload();
    });
  }

  abort(): void {
    this.onabort();
  }
}

class Encoder {
  encode(text: string): Uint8Array {
    const escaped = encodeURIComponent(text);
    const letters = escaped.replace(
      /%(..)/g,
      (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)),
    );
    return Uint8Array.from([...letters], (letter) => letter.charCodeAt(0));
  }
}

const LETTERS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function encodeBase64(binary: string): string {
  let text = "";
  for (let at = 0; at < binary.length; at += 3) {
    const [one = 0, two = NaN, three = NaN] = [0, 1, 2].map((next) =>
      binary.charCodeAt(at + next)
    );
    text += LETTERS.charAt(one >> 2) +
      LETTERS.charAt((one & 3) << 4 | two >> 4);
    text += isNaN(two) ? "=" : LETTERS.charAt((two & 15) << 2 | three >> 6);
    text += isNaN(three) ? "=" : LETTERS.charAt(three & 63);
  }
  return text;
}

function decodeBase64(text: string): string {
  let binary = "";
  let held = 0;
  let bits = 0;
  for (const letter of text.replace(/=+$/, "")) {
    held = (held << 6 | LETTERS.indexOf(letter)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    binary += String.fromCharCode(held >> bits & 0xff);
  }
  return binary;
}

Object.assign(globalThis, {
  self: globalThis,
  navigator: { product: "ReactNative" },
  nativeModuleProxy: {},
  console: { log: print, warn: print, error: print, assert() {} },
  setTimeout: (run: () => void, ms = 0) => ask({ kind: "timer", ms }, run),
  clearTimeout: (id: number) => waiting.delete(id),
  queueMicrotask: (run: () => void) => void Promise.resolve().then(run),
  performance: { now: () => Date.now() },
  XMLHttpRequest: Request,
  TextEncoder: Encoder,
  btoa: encodeBase64,
  atob: decodeBase64,
  /** Takes the answer to a question from the process outside. */
  answer: (id: number, answer?: Answer) => {
    const then = waiting.get(id);
    waiting.delete(id);
    then?.(answer);
  },
  /** Stands for the package `react-native-get-random-values`. */
  installRandom: (pool: number[]) => {
    const getRandomValues = (bytes: Uint8Array) => {
      if (pool.length < bytes.length) throw new Error("no random bytes left");
      bytes.set(pool.splice(0, bytes.length));
      return bytes;
    };
    Object.assign(globalThis, { crypto: { getRandomValues } });
  },
});
Promise.allSettled ??= (promises: Iterable<unknown>) =>
  Promise.all(
    [...promises].map((one) =>
      Promise.resolve(one).then(
        (value) => ({ status: "fulfilled", value }),
        (reason) => ({ status: "rejected", reason }),
      )
    ),
  ) as ReturnType<typeof Promise.allSettled>;
