/**
 * Public pages that change only with a release or a setting: JSON for programs
 * and a plain HTML page for people. Caches may keep both.
 *
 * @module
 */

import { preferredType } from "../../../shared/http/accept.ts";
import type { CodedText } from "../../../shared/http/coded_text.ts";
import { PAGE_HEADERS } from "../../../shared/http/html_page.ts";
import type { Answer, AnswerHeaders } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import { answerOfRead, tagOfText } from "../../http/etag.ts";
import { problem } from "../../http/problem_answer.ts";

/** A page in its two forms. */
export interface PublicPage {
  /** The JSON form. */
  readonly value: unknown;
  /** The HTML form, a whole document. */
  readonly html: string;
}

/** How long caches may keep public pages, in seconds. */
const MAX_AGE_SECONDS = 300;

/** The media type of pages for people. */
export const PAGE_TYPE = "text/html";

const TYPES = ["application/json", PAGE_TYPE] as const;

/** Tells whether the client prefers a page for people, as browsers do. */
export function prefersPage(call: Pick<CallContext, "header">): boolean {
  return preferredType(call.header("accept"), TYPES) === PAGE_TYPE;
}

/** Answers a public page in the form that Accept asks for. */
export function answerPublicPage(
  call: Pick<CallContext, "header">,
  page: PublicPage,
): Answer {
  const type = preferredType(call.header("accept"), TYPES);
  if (type === undefined) {
    return problem("not_acceptable", {
      detail: `Cannot answer in a format that Accept allows: ${
        TYPES.join(" and ")
      } are offered`,
      headers: { vary: "accept" },
    });
  }
  return type === PAGE_TYPE
    ? answerText(call, {
      text: page.html,
      contentType: PAGE_HEADERS["content-type"],
      headers: PAGE_HEADERS,
    })
    : answerText(call, {
      text: JSON.stringify(page.value),
      contentType: type,
    });
}

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

/** What all public routes that every host offers have in common. */
export const SERVICE_ROUTE = {
  method: "GET",
  hosts: "any",
  tags: ["service"],
  access: { kind: "public" },
} as const;
