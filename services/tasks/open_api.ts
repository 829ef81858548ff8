/**
 * The API over the running parts: what the public port answers.
 *
 * @module
 */

import type { HttpHandler } from "../shared/http/exchange.ts";
import type { FairTurns } from "../shared/fair_turns.ts";
import { Authenticator } from "./access/authenticator.ts";
import type { ApiKey, WorkerCredential } from "./access/credential.ts";
import { CredentialCache } from "./access/credential_cache.ts";
import { digestOf } from "./access/credential_token.ts";
import { ProviderWatch } from "./access/provider_watch.ts";
import type { ApiParts, Readiness } from "./routes/api_parts.ts";
import { CredentialRecords } from "./engine/credential_records.ts";
import { createHandler } from "./http/handler.ts";
import { Cursors } from "./http/cursor.ts";
import { IdempotentAnswers } from "./http/idempotent_answers.ts";
import type { LastUsed } from "./engine/last_used.ts";
import { allRoutes, type AllRoutesOptions } from "./routes/all_routes.ts";
import type { SecretsRounds } from "./engine/secrets_rounds.ts";
import type { ServeOptions } from "./serve_options.ts";
import type { TasksSettings } from "./settings.ts";

/** What the API stands on. */
export interface OpenApiOptions extends ServeOptions {
  /** What runs already. */
  readonly running: Pick<ApiParts, "engine" | "vault" | "caller">;
  /** Notes when credentials are used. */
  readonly lastUsed: LastUsed;
  /** Knows whether the keys of tenants open. */
  readonly secretsRounds: Pick<SecretsRounds, "unopenedTenants">;
  /** Mirrors users; absent when nothing is mirrored. */
  readonly mirrorSettling: ApiParts["mirrorSettling"];
  /** What requests take turns in. */
  readonly turns: FairTurns;
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
  const { clock, logger, parsed, lastUsed } = options;
  const { engine } = options.running;
  const apiKeys = new CredentialCache<ApiKey>({ clock });
  const workerCredentials = new CredentialCache<WorkerCredential>({ clock });
  const provider = options.identityProvider &&
    new ProviderWatch({ provider: options.identityProvider, logger });
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
    ...(options.mirrorSettling === undefined
      ? {}
      : { mirrorSettling: options.mirrorSettling }),
    ...(options.tokens === undefined ? {} : { issuer: settings.idpIssuer }),
    accounts: {
      mode: settings.accountsMode,
      tokenDigests: digestsOf(settings.accountsToken),
      perHour: settings.signupsPerHour,
      serviceHost: settings.serviceHost,
    },
    readiness: () => readiness(options, provider),
    durability: settings.durability,
    maxBatchBytes: settings.maxBatchBytes,
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
    repositories: engine.parts.repositories,
    limitsOf: engine.parts.limitsOf,
    maxBodyBytes: settings.maxBodyBytes,
    maxBodiesBytes: settings.maxBodiesBytes,
    operatorDigests: digestsOf(settings.operatorToken),
    authenticator: new Authenticator({
      store: new CredentialRecords(engine.parts),
      apiKeys,
      workerCredentials,
      clock,
      ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
    }),
    leaseSource: engine,
    answers: new IdempotentAnswers(engine.parts),
    turns: options.turns,
    onWaited: (key, waitedMs) => options.waits.noteTurn(key, waitedMs),
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
  { store, secretsRounds }: Pick<OpenApiOptions, "store" | "secretsRounds">,
  provider: ProviderWatch | undefined,
): Promise<Readonly<Record<string, Readiness>>> {
  const checks: Record<string, Readiness> = {};
  try {
    await store.check();
    checks.store = { isReady: true };
  } catch {
    checks.store = { isReady: false, detail: "it cannot be read or written" };
  }
  if (provider !== undefined) {
    const outcome = await provider.check();
    checks.idp = outcome.kind === "ok"
      ? { isReady: true }
      : { isReady: false, detail: outcome.kind };
  }
  // All else works, so it is ready; how many they are is not for strangers.
  if (secretsRounds.unopenedTenants > 0) {
    checks.secrets = {
      isReady: true,
      detail: "some tenants' secrets cannot be opened with the master keys " +
        "that are configured",
    };
  }
  return checks;
}
