/**
 * Begins and ends sessions, and keeps the reader's choice of colours.
 *
 * @module
 */

import { TextField } from "../../../shared/console/form.tsx";
import {
  isOperatorToken,
  operatorSessionId,
} from "../../access/authorization.ts";
import {
  readSessionCookie,
  sessionCookie,
} from "../../access/session_cookie.ts";
import type { Answer } from "../../http/answer.ts";
import type { Session } from "../../domain/records.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { getTenant } from "../../http/call.ts";
import {
  type AnswerOptions,
  FOREIGN_FORM,
  isFromHere,
  isOwnForm,
  openPage,
  readTheme,
  redirect,
  schemeOf,
  show,
  THEME_COOKIE,
} from "../answer_page.tsx";
import {
  type ConsoleParts,
  type PageCall,
  type PageContent,
  type PageRequest,
  withQuery,
} from "../parts/page.ts";

/** Shows the form to sign in, and signs in by what it sends. */
export async function answerSignIn(
  call: PageRequest,
  options: AnswerOptions,
): Promise<Answer> {
  const page = openPage(call, options.api);
  const next = ownPath(page, call.query.get("next"));
  const hasProvider = options.login !== undefined && call.tenant !== undefined;
  if (page.form.size === 0) {
    if (call.caller !== undefined) return redirect(next);
    // A link on another site came here; the browser sends the cookie only with
    // what a page of this site asks for.
    return call.header("sec-fetch-site") === "cross-site"
      ? await show(page, hop(next))
      : await show(page, signInPage(page, { hasProvider }));
  }
  if (!isFromHere(call)) return await show(page, FOREIGN_FORM);
  const key = page.form.get("key")?.trim() ?? "";
  const outcome = call.tenant === undefined
    ? checkOperator(key, options)
    : await checkKey(call, key, options);
  return "fault" in outcome
    ? await show(page, {
      ...signInPage(page, { ...outcome, hasProvider }),
      status: 401,
    })
    : redirect(next, await openSession(call, options, outcome));
}

/** What a person has signed in with, or why the person is not let in. */
type SignInOutcome = Session["credential"] | { readonly fault: string };

function checkOperator(
  token: string,
  { operatorDigests, logger }: AnswerOptions,
): SignInOutcome {
  if (!isOperatorToken(token, operatorDigests)) {
    return { fault: "Cannot sign in: this is not the operator's token" };
  }
  logger.info("The operator has signed in to the console");
  return { kind: "operator", id: operatorSessionId(token) };
}

async function checkKey(
  call: PageRequest,
  key: string,
  { authenticator }: AnswerOptions,
): Promise<SignInOutcome> {
  const { id, domain } = getTenant(call);
  const outcome = await authenticator.authenticate({
    authorization: [`Bearer ${key}`],
    tenant: { id, domain },
    clientAddress: call.peer,
  });
  if (outcome.kind === "ok" && outcome.caller.kind === "api_key") {
    return { kind: "key", id: outcome.caller.keyId };
  }
  return {
    fault: outcome.kind === "refused"
      ? outcome.reason.replace("Authorization header", "the key")
      : "Cannot sign in: this is not an API key, which begins with dk_",
  };
}

/** How long a session of the operator lasts, in milliseconds: 12 hours. */
const OPERATOR_SESSION_MS = 12 * 3_600_000;

/** A page of this site that leads to another one. */
export function hop(to: string): PageContent {
  return {
    kind: "page",
    title: "Signing in",
    goTo: to,
    content: (
      <p>
        <a href={to}>Go on</a>
      </p>
    ),
  };
}

/** Opens a session and returns the header that tells the browser. */
export async function openSession(
  call: PageRequest,
  { sessions }: Pick<ConsoleParts, "sessions">,
  credential: Session["credential"],
): Promise<string> {
  const lengthMs = call.limits?.sessionMs ?? OPERATOR_SESSION_MS;
  const owner = call.tenant?.id ?? REGISTRY;
  const token = await sessions.open(owner, { credential, lengthMs });
  return sessionCookie(token, { scheme: schemeOf(call), maxAgeMs: lengthMs });
}

/** Ends the session. */
export async function signOut(
  call: PageRequest,
  { sessions }: Pick<ConsoleParts, "sessions">,
): Promise<Answer> {
  const scheme = schemeOf(call);
  const { base } = openPage(call);
  const token = readSessionCookie(call.header("cookie"), scheme);
  if (token === undefined || !isOwnForm(call)) return redirect(base);
  await sessions.end(call.tenant?.id ?? REGISTRY, token);
  return redirect(
    withQuery(`${base}/sign-in`, { done: "signed_out" }),
    sessionCookie(null, { scheme, maxAgeMs: 0 }),
  );
}

/** Keeps the reader's choice of colours for a year. */
export function setTheme(call: PageRequest): Promise<Answer> {
  const page = openPage(call);
  const theme = readTheme(page.form.get("theme") ?? undefined);
  const back = ownPath(page, page.form.get("back"));
  if (!isOwnForm(call)) return Promise.resolve(redirect(back));
  return Promise.resolve(redirect(
    back,
    `${THEME_COOKIE}=${theme}; Path=/; SameSite=Strict; Max-Age=31536000`,
  ));
}

/** A path of the console; its first page for any other text. */
export function ownPath({ base }: PageCall, text: string | null): string {
  const isOwn = text !== null && /^[\x21-\x7e]+$/.test(text) &&
    (text === base || text.startsWith(`${base}/`) ||
      text.startsWith(`${base}?`));
  return isOwn ? text : base;
}

function signInPage(
  page: PageCall,
  { fault, hasProvider }: {
    /** What is wrong with the key that was sent. @default nothing */
    readonly fault?: string;
    /** Whether people may sign in at the identity provider. */
    readonly hasProvider: boolean;
  },
): PageContent {
  const { base, path, query, call } = page;
  const next = query.get("next") ?? undefined;
  const isOperator = call.tenant === undefined;
  return {
    kind: "page",
    title: "Sign in",
    content: (
      <>
        {hasProvider
          ? (
            <section>
              <a
                class="button primary"
                href={withQuery(`${base}/sign-in/provider`, { next })}
              >
                Sign in with your account
              </a>
            </section>
          )
          : null}
        <form method="post" action={path}>
          <TextField
            name="key"
            label={isOperator ? "Operator token" : "API key"}
            type="password"
            autocomplete="current-password"
            hint={isOperator
              ? "The token of the setting OPERATOR_TOKEN."
              : "A key of this tenant, which begins with dk_. The pages show and do what the key may."}
            fault={fault}
            isRequired
          />
          <button type="submit" class="primary">Sign in</button>
        </form>
      </>
    ),
  };
}
