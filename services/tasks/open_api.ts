/**
 * The API over the running parts: what the public port answers.
 *
 * @module
 */

import type { HttpHandler } from "../shared/http/exchange.ts";
import { Authenticator } from "./access/authenticator.ts";
import type { ApiKey, WorkerCredential } from "./access/credential.ts";
import { CredentialCache } from "./access/credential_cache.ts";
import { digestOf } from "./access/credential_token.ts";
import type { ApiParts, Readiness } from "./api/api_parts.ts";
import { CredentialRecords } from "./api/credential_records.ts";
import { createHandler } from "./api/handler.ts";
import { Cursors } from "./api/http/cursor.ts";
import { IdempotentAnswers } from "./api/idempotent_answers.ts";
import type { LastUsed } from "./api/last_used.ts";
import { allRoutes, type AllRoutesOptions } from "./api/routes/all_routes.ts";
import type { ServeOptions } from "./serve_options.ts";
import type { TasksSettings } from "./settings.ts";

/** What the API stands on. */
export interface OpenApiOptions extends ServeOptions {
  /** What runs already. */
  readonly running: Pick<ApiParts, "engine" | "vault" | "caller">;
  /** The port that is served, known before the first request comes in. */
  readonly boundPort: () => number;
  /** Notes when credentials are used. */
  readonly lastUsed: LastUsed;
  /** What runs in the background on behalf of routes. */
  readonly background: Pick<AllRoutesOptions, "operations" | "onTenantRemoved">;
}

/** Where the key of cursors is kept, so that they outlive a restart. */
const CURSOR_KEY_ID = "cursor_key";

/** Makes the handler of the public port. */
export async function openApi(
  settings: TasksSettings,
  options: OpenApiOptions,
): Promise<HttpHandler> {
  const { clock, logger, parsed, tls, lastUsed, boundPort } = options;
  const { engine } = options.running;
  const apiKeys = new CredentialCache<ApiKey>({ clock });
  const workerCredentials = new CredentialCache<WorkerCredential>({ clock });
  const usualPort = tls === undefined ? 80 : 443;
  const apiParts: ApiParts = {
    ...options.running,
    plans: options.plans,
    cursors: new Cursors(await cursorKey(options)),
    targets: {
      allowHttp: settings.pushAllowHttp,
      allowList: parsed.allowList,
    },
    apiKeys,
    workerCredentials,
    ...(options.identityProvider === undefined || !settings.idpMirrorUsers
      ? {}
      : { mirror: options.identityProvider }),
    accounts: {
      mode: settings.accountsMode,
      tokenDigests: digestsOf(settings.accountsToken),
      perHour: settings.signupsPerHour,
      get shownHost(): string {
        const port = boundPort();
        return settings.serviceHost + (port === usualPort ? "" : `:${port}`);
      },
    },
    readiness: () => readiness(options),
    durability: settings.durability,
  };
  const routes = allRoutes(apiParts, {
    ...options.background,
    tokens: options.tokens,
  });
  return createHandler({
    routes,
    serviceHost: settings.serviceHost,
    devFallback: settings.devTenantFallback,
    trustedProxies: parsed.trustedProxies,
    books: engine.parts.books,
    limitsOf: engine.parts.limitsOf,
    maxBodyBytes: settings.maxBodyBytes,
    operatorDigests: digestsOf(settings.operatorToken),
    authenticator: new Authenticator({
      store: new CredentialRecords(engine.parts),
      apiKeys,
      workerCredentials,
      clock,
      ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
    }),
    answers: new IdempotentAnswers(engine.parts),
    onCaller: (who) => lastUsed.noteCaller(who),
    clock,
    logger,
  });
}

function digestsOf(token: string): readonly string[] {
  return token === "" ? [] : [digestOf(token)];
}

/** The key that seals cursors; made at the first start. */
async function cursorKey(
  { store, randomBytes }: Pick<ServeOptions, "store" | "randomBytes">,
): Promise<Uint8Array> {
  const known = await store.record("service", "", CURSOR_KEY_ID);
  if (known !== undefined) return Uint8Array.fromBase64(known.text);
  const key = randomBytes(32);
  await store.commit([{
    writes: [{
      kind: "record",
      recordKind: "service",
      tenantId: "",
      id: CURSOR_KEY_ID,
      expectedVersion: 0,
      next: {
        kind: "service",
        tenantId: "",
        id: CURSOR_KEY_ID,
        version: 1,
        text: key.toBase64(),
      },
    }],
  }]);
  return key;
}

async function readiness(
  { store, identityProvider }: Pick<
    ServeOptions,
    "store" | "identityProvider"
  >,
): Promise<Readonly<Record<string, Readiness>>> {
  const checks: Record<string, Readiness> = {};
  try {
    await store.nextWakeMs();
    checks.store = { isReady: true };
  } catch {
    checks.store = { isReady: false, detail: "the store does not answer" };
  }
  if (identityProvider !== undefined) {
    const outcome = await identityProvider.check();
    checks.idp = outcome.kind === "ok"
      ? { isReady: true }
      : { isReady: false, detail: outcome.kind };
  }
  return checks;
}
