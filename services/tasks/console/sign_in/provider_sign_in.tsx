/**
 * Signs people in to the console at the identity provider.
 *
 * @module
 */

import { Note } from "../../../shared/console/parts.tsx";
import { readCookie } from "../../access/session_cookie.ts";
import { formatPending, parsePending } from "../../access/provider_login.ts";
import type { Answer } from "../../http/answer.ts";
import { type CallContext, getTenant } from "../../http/call.ts";
import {
  type AnswerOptions,
  openPage,
  redirect,
  schemeOf,
  show,
} from "../answer_page.tsx";
import { CONSOLE_PATH } from "../console_pages.ts";
import type {
  ConsoleParts,
  PageCall,
  PageContent,
  PageRequest,
} from "../parts/page.ts";
import { hop, openSession, ownPath } from "./sign_in.tsx";

/** How long a person may take at the provider, in seconds. */
const PENDING_SECONDS = 600;

/**
 * The cookie of a sign-in that has begun. It comes back with the provider's
 * redirect, which a stricter one would not.
 */
function pendingCookie(
  call: CallContext,
  value: string,
  maxAgeSeconds: number,
): string {
  const secure = schemeOf(call) === "https" ? "; Secure" : "";
  return `${pendingName(call)}=${value}; Path=/; HttpOnly; SameSite=Lax; ` +
    `Max-Age=${maxAgeSeconds}${secure}`;
}

function pendingName(call: CallContext): string {
  return schemeOf(call) === "https" ? "__Host-tercet_login" : "tercet_login";
}

function callbackUri({ baseUrl }: CallContext): string {
  return `${baseUrl.replace(/\/api$/, "")}${CONSOLE_PATH}/sign-in/callback`;
}

/** Sends the browser to the provider. */
export async function beginLogin(
  call: PageRequest,
  { login, logger }: Pick<ConsoleParts, "login" | "logger">,
): Promise<Answer> {
  if (login === undefined) throw new TypeError("Cannot sign in: no provider");
  const page = openPage(call);
  const begun = await login.begin(callbackUri(call));
  if (begun.kind !== "ok") {
    logger.warn(NO_ANSWER, { reason: begun.reason });
    return await show(page, UNREACHABLE);
  }
  const next = encodeURIComponent(ownPath(page, call.query.get("next")));
  const value = `${formatPending(begun.pending)}.${next}`;
  return redirect(begun.url, pendingCookie(call, value, PENDING_SECONDS));
}

/** Opens a session for the person whom the provider has sent back. */
export async function finishLogin(
  call: PageRequest,
  options: AnswerOptions,
): Promise<Answer> {
  const { login, logger, users } = options;
  if (login === undefined) throw new TypeError("Cannot sign in: no provider");
  const page = openPage(call);
  const { query } = call;
  const { pending, next } = readPending(call, page);
  const code = query.get("code");
  if (
    pending === undefined || code === null ||
    query.get("state") !== pending.state
  ) {
    return await fail(page, "the provider's answer is not to you");
  }
  const redirectUri = callbackUri(call);
  const finished = await login.finish(code, { pending, redirectUri });
  if (finished.kind === "unavailable") {
    logger.warn(NO_ANSWER, { reason: finished.reason });
    return await show(page, UNREACHABLE);
  }
  if (finished.kind === "refused") return await fail(page, finished.reason);
  const user = await users.findUser(getTenant(call).id, finished.subject);
  if (user === undefined || user.status === "disabled") {
    return await fail(page, "you are no user of this tenant");
  }
  const credential = { kind: "user", id: user.id } as const;
  const cookie = await openSession(call, options, credential);
  return await show(page, { ...hop(next), cookie });
}

function readPending(call: CallContext, page: PageCall): {
  readonly pending: ReturnType<typeof parsePending>;
  readonly next: string;
} {
  const value = readCookie(call.header("cookie"), pendingName(call)) ?? "";
  const parts = value.split(".");
  const pending = parsePending(parts.slice(0, 3).join("."));
  return { pending, next: ownPath(page, decoded(parts.slice(3).join("."))) };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    // The cookie is not one that was set here.
    return null;
  }
}

const NO_ANSWER = "Cannot sign in at the identity provider";

const UNREACHABLE: PageContent = {
  kind: "page",
  title: "The identity provider does not answer",
  status: 503,
  content: (
    <Note tone="bad">
      <p>Try again in a moment, or sign in with an API key.</p>
    </Note>
  ),
};

function fail(page: PageCall, reason: string): Promise<Answer> {
  return show(page, {
    kind: "page",
    title: "You are not signed in",
    status: 401,
    content: (
      <Note tone="bad" isUrgent>
        <p>{`Cannot sign in: ${reason.replace(/^Cannot sign in: /, "")}.`}</p>
        <p>
          <a href={`${page.base}/sign-in`}>Sign in again</a>
        </p>
      </Note>
    ),
  });
}
