/**
 * The style and the script of all console pages. Their names have a hash of
 * their contents, so that browsers may keep them for good.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { CodedText } from "../http/coded_text.ts";
import type { HttpHeaders, HttpResponse } from "../http/exchange.ts";
import script from "./console.js" with { type: "text" };
import style from "./console.css" with { type: "text" };

/** A file that pages load. */
export interface ConsoleAsset {
  /** Its name, with a hash of its text. */
  readonly name: string;
  /** The type of the text. */
  readonly contentType: string;
  /** The text, plain and gzipped. */
  readonly text: CodedText;
}

/** The style of all pages. */
export const STYLE: ConsoleAsset = asset("console", {
  text: shrunk(style),
  extension: "css",
  contentType: "text/css",
});

/** The script of all pages. */
export const SCRIPT: ConsoleAsset = asset("console", {
  text: script,
  extension: "js",
  contentType: "text/javascript",
});

/** The headers with which assets are served. */
export const ASSET_HEADERS = {
  "cache-control": "public, max-age=31536000, immutable",
  "x-content-type-options": "nosniff",
} as const;

/** The asset with a name; undefined when there is none, or no longer. */
export function findAsset(name: string): ConsoleAsset | undefined {
  return [STYLE, SCRIPT].find((asset) => asset.name === name);
}

/** Answers a request for an asset, in the form that the client takes. */
export async function assetAnswer(
  { text, contentType }: ConsoleAsset,
  headers: HttpHeaders,
): Promise<HttpResponse> {
  const form = await text.formFor(headers.get("accept-encoding"));
  return {
    status: 200,
    headers: {
      ...{ ...ASSET_HEADERS, ...form.headers, etag: form.etag },
      "content-type": contentType,
    },
    body: form.bytes,
  };
}

/** Makes an asset of a text that has a name with a hash already. */
export function consoleAsset(
  name: string,
  { text, contentType }: {
    readonly text: string;
    /** The media type, without the charset, which is UTF-8. */
    readonly contentType: string;
  },
): ConsoleAsset {
  return {
    name,
    contentType: `${contentType}; charset=utf-8`,
    text: new CodedText(text),
  };
}

function asset(
  name: string,
  { text, extension, contentType }: {
    readonly text: string;
    readonly extension: string;
    readonly contentType: string;
  },
): ConsoleAsset {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return consoleAsset(`${name}-${hash}.${extension}`, { text, contentType });
}

/** Leaves out comments and indentation. */
function shrunk(css: string): string {
  return css.replaceAll(/\/\*.*?\*\//gs, "").replaceAll(/\n\s*/g, "\n");
}
