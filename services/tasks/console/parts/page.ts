/**
 * What a page of the console is given, and what it answers.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import type { Logger } from "../../../shared/logger.ts";
import type {
  Authenticator,
  CredentialStore,
} from "../../access/authenticator.ts";
import type { ProviderLogin } from "../../access/provider_login.ts";
import { type Caller, getScopes } from "../../access/caller.ts";
import type { Scope } from "../../access/scope.ts";
import type { ApiAnswer, ApiQuestion } from "../../http/ask_api.ts";
import type { Call, CallContext } from "../../http/call.ts";
import type { Sessions } from "../../engine/sessions.ts";

/** What the console needs besides the API. */
export interface ConsoleParts {
  /** Opens and ends sessions. */
  readonly sessions: Sessions;
  /** Checks what people sign in with. */
  readonly authenticator: Authenticator;
  /** Digests of the operator's tokens; without one the operator has no console. */
  readonly operatorDigests: readonly string[];
  /** Finds the user whom a token of the identity provider names. */
  readonly users: Pick<CredentialStore, "findUser">;
  /**
   * Signs people in at the identity provider.
   * @default people sign in with keys alone
   */
  readonly login?: ProviderLogin | undefined;
  /** Logs faults of pages. */
  readonly logger: Logger;
}

/** A request for a page, with what its form has sent. */
export type PageRequest = Call<URLSearchParams, URLSearchParams | undefined>;

/** A request for a page. */
export interface PageCall {
  /** The request as handlers of the API get it. */
  readonly call: CallContext;
  /** The path of the console, with which all its links begin. */
  readonly base: string;
  /** The path and query of this page. */
  readonly path: string;
  /** The path of this page, without its query. */
  readonly here: string;
  /** The values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>;
  /** The parameters of the query. */
  readonly query: URLSearchParams;
  /** The fields of the form that was sent; none for a page that is read. */
  readonly form: URLSearchParams;
  /** The value that forms have to send; empty without a session. */
  readonly csrf: string;
  /** Who reads the page; absent on pages without a session. */
  readonly caller: Caller | undefined;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Asks the API with the reader's rights. */
  ask(question: ApiQuestion): Promise<ApiAnswer>;
  /** Asks the API, and shows what it answers, or why it refuses. */
  show<Body>(question: ApiQuestion, content: Shows<Body>): Promise<PageAnswer>;
}

/** Makes a page of the body of an answer that is good. */
export type Shows<Body> = (
  body: Body,
  answer: ApiAnswer,
) => PageAnswer | Promise<PageAnswer>;

/** The answer of a page. */
export type PageAnswer =
  | PageContent
  /** Another page is to be read. */
  | {
    readonly kind: "redirect";
    /** Its path and query. */
    readonly to: string;
    /** The `Set-Cookie` header. @default none */
    readonly cookie?: string;
  }
  /** The API refuses what the page asks; its problem is shown. */
  | { readonly kind: "refused"; readonly answer: ApiAnswer };

/** A page to be shown. */
export interface PageContent {
  /** Tells the kinds of answers apart. */
  readonly kind: "page";
  /** The title. */
  readonly title: string;
  /** The heading. @default the title */
  readonly heading?: VNode;
  /** What stands beside the heading. @default nothing */
  readonly actions?: ComponentChildren;
  /** The content. */
  readonly content: ComponentChildren;
  /** The HTTP status. @default {200} */
  readonly status?: number;
  /**
   * Seconds after which a browser without scripts loads the page again.
   * @default never
   */
  readonly refreshSeconds?: number | undefined;
  /** The path of a page that the browser loads at once. @default none */
  readonly goTo?: string;
  /** The `Set-Cookie` header. @default none */
  readonly cookie?: string;
}

/** Answers requests for a page, or what its forms send. */
export type Page = (page: PageCall) => Promise<PageAnswer>;

/** Whether the reader has a scope, so that a page offers what needs it. */
export function may({ caller }: PageCall, scope: Scope): boolean {
  return caller !== undefined && getScopes(caller).has(scope);
}

/** The problem of an API's answer; undefined when the answer is good. */
export function refusalOf(answer: ApiAnswer): PageAnswer | undefined {
  return answer.status < 400 ? undefined : { kind: "refused", answer };
}

/**
 * Members of a record of the API that are text, such as instants in RFC 3339:
 * those that each record has, and those that may be null.
 */
export type Texts<Always extends string, Perhaps extends string = never> =
  Readonly<Record<Always, string> & Record<Perhaps, string | null>>;

/** A problem as the API writes it, with each fault of the request. */
export type ShownProblem =
  & Texts<"code" | "title">
  & Partial<Texts<"detail" | "request_id">>
  & {
    /** What is wrong, and where: in the body, or which parameter. */
    readonly errors?: readonly (
      & Texts<"detail">
      & Partial<Texts<"pointer" | "parameter">>
    )[];
  };

/** A page of a list of the API. */
export interface ShownList<T> {
  /** The entries. */
  readonly data: readonly T[];
  /** The cursor of the next page; null on the last. */
  readonly next: string | null;
  /** How many there are in all, up to a bound. */
  readonly count?: number;
  /** Whether the count is no bound. */
  readonly count_is_exact?: boolean;
}

/** Sends the reader to a page, which tells what was done. */
export function goTo(path: string, done?: string): PageAnswer {
  return { kind: "redirect", to: withQuery(path, { done }) };
}

/** The path of the API for a record that the page's path names by its id. */
export function pathOf(list: string, { params }: PageCall): string {
  return `/v1/${list}/${encodeURIComponent(params.id ?? "")}`;
}

/** A path with a query; parameters without a value are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]]
  );
  const text = new URLSearchParams(given).toString();
  return text === "" ? path : `${path}?${text}`;
}
