/**
 * The pages that the `type` of problems leads to.
 *
 * @module
 */

import {
  attributeHtml,
  codeHtml,
  lineHtml,
  preHtml,
  textHtml,
} from "../../../shared/http/html.ts";
import {
  htmlPage,
  PAGE_HEADERS,
  type PageLink,
} from "../../../shared/http/html_page.ts";
import { anyJson } from "../../../shared/schema/json_value.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import { described, named, type Shape } from "../../../shared/schema/schema.ts";
import { choice, integer, text } from "../../../shared/schema/values.ts";
import type { Answer } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import { problemExample } from "../../http/openapi_document.ts";
import { problem } from "../../http/problem_answer.ts";
import {
  parseProblemCode,
  PROBLEM_CODES,
  type ProblemCode,
  problemKind,
} from "../../http/problem_catalog.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import {
  answerPublicPage,
  PAGE_TYPE,
  prefersPage,
  SERVICE_ROUTE,
} from "./public_page.ts";

/** The description of a kind of problem. */
const PROBLEM_KIND: Shape = named(
  "ProblemKind",
  object({
    code: described(choice(PROBLEM_CODES), "What programs tell it by"),
    status: described(
      integer({ minimum: 400, maximum: 599 }),
      "The HTTP status code",
    ),
    title: described(text(), "What it is, for people"),
    description: described(
      text(),
      "When it is answered and what to do about it",
    ),
    example: described(
      object({
        detail: described(text(), "What is wrong this time"),
        extensions: optional(
          anyJson({ maxBytes: 65_536 }),
          "Members that this kind alone has",
        ),
      }),
      "What an answer may say",
    ),
  }),
  {
    description: "What an answer with this code means",
    examples: [{
      code: "not_found",
      status: 404,
      title: "Not found",
      description: "The path is unknown, or the tenant has nothing with " +
        "this id",
      example: { detail: "Cannot find task: no task has this id" },
    }],
  },
);

const LINKS: readonly PageLink[] = [
  { path: "/docs#examples", text: "All problems" },
  { path: "/docs", text: "Reference of the API" },
];

/** The route of the kinds of problems. */
export function problemRoute(): AnyRoute {
  return defineRoute({
    ...SERVICE_ROUTE,
    path: "/problems/:code",
    operationId: "getProblemKind",
    summary: "Tell what a kind of problem means",
    description: "Where the `type` of problems leads to. With " +
      "`Accept: text/html` it is a page for people.",
    answers: {
      200: {
        description: "The kind of problem",
        shape: PROBLEM_KIND,
        pageType: PAGE_TYPE,
      },
    },
    conditions: "read",
    problems: ["not_acceptable"],
    handle: (call) => {
      const written = call.params["code"] ?? "";
      const code = parseProblemCode(written);
      return code === undefined
        ? answerUnknown(call, written)
        : answerKind(call, code);
    },
  });
}

function answerKind(
  call: Pick<CallContext, "header" | "baseUrl">,
  code: ProblemCode,
): Answer {
  const { status, title, description, example } = problemKind(code);
  const origin = URL.parse(call.baseUrl)?.origin ?? "";
  const answer = JSON.stringify(problemExample(code, origin), null, 2);
  return answerPublicPage(call, {
    value: { code, status, title, description, example },
    html: htmlPage({
      service: "tasks",
      heading: title,
      links: LINKS,
      content: `<p>${lineHtml(description)}</p>
<dl>
<dt>Code</dt>
<dd>${codeHtml(code)}</dd>
<dt>HTTP status</dt>
<dd>${status}</dd>
</dl>
<h2>An answer, for example</h2>
${preHtml(answer)}`,
    }),
  });
}

/** Shows people the codes there are; programs get a problem. */
function answerUnknown(
  call: Pick<CallContext, "header">,
  written: string,
): Answer {
  const vary = { vary: "accept" };
  if (!prefersPage(call)) {
    return problem("not_found", {
      detail: "Cannot find kind of problem: no problem has this code",
      headers: vary,
    });
  }
  const items = PROBLEM_CODES.map((code) =>
    `<dt><a href="${attributeHtml(`/problems/${code}`)}">${
      codeHtml(code)
    }</a></dt>
<dd>${textHtml(problemKind(code).title)}</dd>`
  );
  return {
    kind: "text",
    status: 404,
    contentType: PAGE_HEADERS["content-type"],
    headers: { ...PAGE_HEADERS, ...vary },
    text: htmlPage({
      service: "tasks",
      heading: "There is no such kind of problem",
      links: LINKS,
      content: `<p>No answer has the code ${
        codeHtml(written)
      }: it may be misspelt, or of another version.</p>
<h2>The codes there are</h2>
<dl>
${items.join("\n")}
</dl>`,
    }),
  };
}
