/**
 * Public pages that change only with a release or a setting: JSON for programs
 * and a plain HTML page for people. Caches may keep both.
 *
 * @module
 */

import type { CodedText } from "../../../shared/http/coded_text.ts";
import type { Answer, AnswerHeaders } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import { answerOfRead, tagOfText } from "../../http/etag.ts";
import { problem } from "../../http/problem_answer.ts";

/** Longest Accept header that is read; a longer one is ignored. */
const MAX_LENGTH = 1_024;

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly weight: number;
}

/**
 * The offered type that the client prefers; of equally preferred ones the
 * first. The first one also when Accept is missing or cannot be read.
 *
 * @returns `undefined` when the client accepts none of the types.
 */
export function preferredType<const Type extends string>(
  accept: string | undefined,
  offered: readonly Type[],
): Type | undefined {
  const ranges = accept === undefined || accept.length > MAX_LENGTH
    ? []
    : accept.split(",").flatMap(parseRange);
  if (ranges.length === 0) return offered[0];
  let best: Type | undefined;
  let bestWeight = 0;
  for (const type of offered) {
    const weight = weightOf(type, ranges);
    if (weight <= bestWeight) continue;
    best = type;
    bestWeight = weight;
  }
  return best;
}

/** The weight of the most specific range that matches a type. */
function weightOf(offered: string, ranges: readonly Range[]): number {
  const [type = "", subtype = ""] = offered.split("/");
  const exact = ranges.find((range) =>
    range.type === type && range.subtype === subtype
  );
  const ofType = ranges.find((range) =>
    range.type === type && range.subtype === "*"
  );
  const any = ranges.find((range) => range.type === "*");
  return (exact ?? ofType ?? any)?.weight ?? 0;
}

function parseRange(text: string): readonly Range[] {
  const [range = "", ...parameters] = text.split(";").map((part) =>
    part.trim().toLowerCase()
  );
  const match = /^([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)$/.exec(range);
  if (match === null) return [];
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  const written = quality?.slice(2) ?? "1";
  const weight = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(written)
    ? Number(written)
    : 0;
  return [{ type: match[1] ?? "", subtype: match[2] ?? "", weight }];
}

/** A page in its two forms. */
export interface PublicPage {
  /** The JSON form. */
  readonly value: unknown;
  /** The title of the page. */
  readonly title: string;
  /** The rows of the table in the HTML form, the heading first; plain text. */
  readonly rows: readonly (readonly string[])[];
}

/** How long caches may keep public pages, in seconds. */
const MAX_AGE_SECONDS = 300;

/** The media type of pages for people. */
export const PAGE_TYPE = "text/html";

const TYPES = ["application/json", PAGE_TYPE] as const;

/** Answers a public page in the form that Accept asks for. */
export function answerPublicPage(
  call: Pick<CallContext, "header">,
  page: PublicPage,
): Answer {
  const type = preferredType(call.header("accept"), TYPES);
  if (type === undefined) {
    return problem("not_acceptable", {
      detail: `Cannot answer in a form that Accept allows: ${
        TYPES.join(" and ")
      } are offered`,
      headers: { vary: "accept" },
    });
  }
  return type === PAGE_TYPE
    ? answerText(call, {
      text: htmlOf(page),
      contentType: "text/html; charset=utf-8",
      headers: HTML_HEADERS,
    })
    : answerText(call, {
      text: JSON.stringify(page.value),
      contentType: type,
    });
}

/** Forbids everything: the page loads and runs nothing. */
const HTML_HEADERS = {
  "content-security-policy": "default-src 'none'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
};

/** A text that caches may keep. */
interface PublicText {
  /** The type of the text, such as `text/html; charset=utf-8`. */
  readonly contentType: string;
  /**
   * Further headers.
   * @default none
   */
  readonly headers?: AnswerHeaders;
}

/**
 * Answers with a text that caches may keep, or 304 when the client has it
 * already.
 */
function answerText(
  call: Pick<CallContext, "header">,
  { text, contentType, headers = {} }: PublicText & { readonly text: string },
): Answer {
  const common = cachedHeaders(tagOfText(text), "accept");
  return unchanged(call, common) ?? {
    kind: "text",
    status: 200,
    text,
    contentType,
    headers: { ...common, ...headers },
  };
}

/**
 * Answers as {@linkcode answerText} does, with a text that is compressed when
 * the client accepts that.
 */
export async function answerCoded(
  call: Pick<CallContext, "header">,
  { text, contentType, headers = {} }: PublicText & {
    readonly text: CodedText;
  },
): Promise<Answer> {
  const form = await text.formFor(call.header("accept-encoding"));
  const common = cachedHeaders(form.etag, "accept-encoding");
  return unchanged(call, common) ?? {
    kind: "bytes",
    status: 200,
    bytes: form.bytes,
    contentType,
    headers: { ...common, ...form.headers, ...headers },
  };
}

type CachedHeaders = AnswerHeaders & { readonly etag: string };

function cachedHeaders(etag: string, vary: string): CachedHeaders {
  return {
    etag,
    "cache-control": `public, max-age=${MAX_AGE_SECONDS}`,
    vary,
    "x-content-type-options": "nosniff",
  };
}

/**
 * The answer to a client that has the text already, or whose preconditions
 * fail; undefined when the text has to be sent.
 */
function unchanged(
  call: Pick<CallContext, "header">,
  common: CachedHeaders,
): Answer | undefined {
  const known = answerOfRead(call, common.etag);
  if (known?.kind !== "empty") return known;
  const { "x-content-type-options": _, ...headers } = common;
  return { ...known, headers };
}

function htmlOf({ title, rows }: PublicPage): string {
  const [head = [], ...body] = rows;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>
<body>
<h1>${escapeHtml(title)}</h1>
<table>
<thead>${rowOf(head, "th")}</thead>
<tbody>
${body.map((row) => rowOf(row, "td")).join("\n")}
</tbody>
</table>
</body>
</html>
`;
}

function rowOf(cells: readonly string[], tag: "th" | "td"): string {
  const texts = cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`);
  return `<tr>${texts.join("")}</tr>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;").replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** What all public routes that every host offers have in common. */
export const SERVICE_ROUTE = {
  method: "GET",
  hosts: "any",
  tags: ["service"],
  access: { kind: "public" },
} as const;
