/**
 * A text that is sent plain or gzipped, as the client accepts it, with an ETag
 * for each form.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** Longest Accept-Encoding header that is looked at. */
const MAX_LENGTH = 1_024;

/** Characters of a hash in hex that tell two contents apart: 128 bits. */
const TAG_LENGTH = 32;

/** Higher gzip levels shrink texts no further and take up to twice the time. */
const LEVEL = 7;

/** A text in the form that a client gets. */
interface CodedForm {
  /** The body. */
  readonly bytes: Uint8Array;
  /** The strong entity tag of this form (RFC 9110, 8.8.3.3). */
  readonly etag: string;
  /** The headers that tell the form. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether an Accept-Encoding header takes gzip (RFC 9110, 12.5.3). */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined || header.length > MAX_LENGTH) return false;
  const codings = header.toLowerCase().split(",").map((part) => {
    const [name = "", ...parameters] = part.split(";").map((one) => one.trim());
    const isRefused = parameters.some((one) => /^q\s*=\s*0(\.0*)?$/.test(one));
    return { name, isRefused };
  });
  const found =
    codings.find(({ name }) => name === "gzip" || name === "x-gzip") ??
      codings.find(({ name }) => name === "*");
  return found !== undefined && !found.isRefused;
}

/** A text whose gzipped form is made on first use, and kept. */
export class CodedText {
  readonly #bytes: Uint8Array;
  readonly #hash: string;
  #gzip: Uint8Array | undefined;

  /** A text that is not compressed yet. */
  constructor(text: string) {
    this.#bytes = new TextEncoder().encode(text);
    this.#hash = createHash("sha256").update(this.#bytes).digest("hex")
      .slice(0, TAG_LENGTH);
  }

  /** The form for a client with this Accept-Encoding header. */
  async formFor(acceptEncoding: string | undefined): Promise<CodedForm> {
    if (!acceptsGzip(acceptEncoding)) {
      return { bytes: this.#bytes, etag: `"${this.#hash}"`, headers: VARY };
    }
    const { gzipSync } = await import("node:zlib");
    this.#gzip ??= gzipSync(this.#bytes, { level: LEVEL });
    return {
      bytes: this.#gzip,
      etag: `"${this.#hash}-gzip"`,
      headers: { ...VARY, "content-encoding": "gzip" },
    };
  }
}

const VARY = { vary: "accept-encoding" } as const;
