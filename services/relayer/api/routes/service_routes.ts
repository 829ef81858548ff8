/**
 * Routes about the service (`/health`, `/version`, `/config`) and about
 * accounts, and the ledger's JSON-RPC.
 *
 * @module
 */

import { toClientGroup } from "../../../shared/http/client_address.ts";
import {
  ReadinessCheck,
  type ReadinessReport,
  storeReadiness,
} from "../../../shared/http/readiness.ts";
import { quote } from "../../../shared/quote.ts";
import { normalizeLedgerId } from "../../ledger/ledger_id.ts";
import { type JsonView, ok, refused, unavailable } from "../answer.ts";
import { shape } from "../../../shared/schema/schema.ts";
import { part } from "../document/answer_parts.ts";
import { serviceAnswer } from "../document/service_answers.ts";
import { jsonRpcAnswer } from "../json_body.ts";
import type { StorageWatch } from "../../store/storage_watch.ts";
import type { RelayerStore } from "../../store/store.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_SMALL_BODY_BYTES, type OpenRoute, type Route } from "../route.ts";
import { READS } from "../token_rule.ts";

/** The version of the API. */
const API_VERSION = "1.0.0";

/**
 * The oldest SDK that is supported, by language. Released clients compare the
 * first number with a constant of their own, which is not their version: with
 * any number above it all of them refuse to work.
 */
const MIN_SUPPORTED_SDK: Readonly<Record<string, string>> = {
  typescript: "0.0.4",
  python: "0.1.0",
  mcp: "0.0.1",
};

const FEATURE_FLAGS: Readonly<Record<string, boolean>> = {
  "auth.accessTokens": true,
  "auth.accountBoundNonce": true,
  "auth.sealSessionHeader": true,
  "config.publicDeploymentMetadata": true,
  "memories.delete": true,
  "recall.filter": true,
  "recall.ranking": true,
  "remember.asyncJobs": true,
  "remember.bulk": true,
  "remember.statusWait": true,
  "remember.supersede": true,
  "runtime.versionEndpoint": true,
};

/**
 * Parts of the API that will be removed, with the versions of the API since and
 * until which they are deprecated.
 */
const DEPRECATIONS: readonly JsonView[] = [{
  surface: "x-delegate-key",
  deprecatedSince: "1.0.0",
  removalApiVersion: "2.0.0",
  guidance: "Sign requests with the delegate key and never send it",
}];

/** The compatibility contract, as `/version` and `/health` tell it. */
function buildContract(
  { version, buildCommit: commit, sessions }: RelayerParts,
): JsonView {
  return {
    relayerVersion: version,
    apiVersion: API_VERSION,
    minSupportedSdk: MIN_SUPPORTED_SDK,
    featureFlags: {
      ...FEATURE_FLAGS,
      "auth.sealSessionRequired": sessions !== undefined,
    },
    deprecations: DEPRECATIONS,
    build: { commit },
  };
}

/** The routes; unsigned, so that health can be checked from anywhere. */
export function serviceRoutes(parts: RelayerParts): readonly OpenRoute[] {
  return [
    {
      access: "open",
      method: "GET",
      path: "/health",
      words: {
        id: "getHealth",
        tag: "service",
        summary: "Check that the process answers",
        answer: serviceAnswer("Health"),
        means: "It does",
      },
      async answer() {
        // A client that waits for the start recalls next, and would then wait
        // for the index.
        await parts.settled;
        return ok({
          status: "ok",
          version: parts.version,
          ...buildContract(parts),
          mode: "production",
          prompt_versions: {
            extract: parts.extractor.name,
            ask: parts.answerer.name,
          },
          write_ready: parts.isWriteReady,
          embedder: parts.embedderState(),
        });
      },
    },
    readinessRoute(parts),
    {
      access: "open",
      method: "GET",
      path: "/version",
      words: {
        id: "getVersion",
        tag: "service",
        summary: "Read the compatible client versions",
        answer: serviceAnswer("Version"),
        means: "The contract",
      },
      answer: () => ok(buildContract(parts)),
    },
    {
      access: "open",
      method: "GET",
      path: "/config",
      words: {
        id: "getConfig",
        tag: "service",
        summary: "Read the configuration for clients",
        answer: serviceAnswer("Config"),
        means: "The deployment",
      },
      answer: async () =>
        ok({
          packageId: parts.ledger.packageId,
          registryId: parts.registryId,
          network: parts.network,
          suiRpcUrl: parts.ledgerRpcUrl,
          suiTransport: parts.ledgerRpcUrl && "jsonrpc",
          rateLimitDisabled: parts.isRateLimitDisabled,
          ...describeKeyServers(parts),
          receiptKeys: await parts.receipts.keys(),
        }),
    },
  ];
}

/** The parts that readiness depends on. */
interface NeededParts
  extends Omit<Parameters<typeof storeReadiness>[0], "store"> {
  /** Must be readable and writable. */
  readonly store: Pick<RelayerStore, "check" | "hasOwnTime">;
  /** Knows whether writes have reached the disk of this machine. */
  readonly storage: Pick<StorageWatch, "isReady">;
}

/** Checks what this relayer needs, for a balancer that asks. */
export async function askReadiness(
  needed: NeededParts,
): Promise<ReadinessReport> {
  const report = await storeReadiness(needed);
  const { store, storage } = needed;
  // A database is asked itself. With a full disk, this machine still recalls.
  return store.hasOwnTime || storage.isReady || !report.store?.isReady
    ? report
    : { ...report, store: { isReady: true, detail: "writes to it fail" } };
}

/** Tells a balancer whether to send requests here. */
function readinessRoute(
  { readiness, isStopping, settled, clock }: RelayerParts,
): OpenRoute {
  const check = new ReadinessCheck({ ask: readiness, isStopping, clock });
  return {
    access: "open",
    method: "GET",
    path: "/readyz",
    words: {
      id: "getReadiness",
      tag: "service",
      summary: "Check that the relayer takes requests",
      answer: serviceAnswer("Ready"),
      means: "It does",
      others: { 503: "It does not, or is stopping; `error` says why" },
    },
    async answer() {
      await settled;
      const { checks, fault } = await check.answer();
      if (fault === undefined) return ok({ status: "ready", checks });
      const why = Object.values(checks)
        .flatMap(({ ready, detail = "" }) => ready ? [] : [detail]);
      return refused(503, `${fault}: ${why.join("; ")}`, {
        retryAfterMs: 2_000,
      });
    },
  };
}

/** What `/config` tells of key servers; released clients do not read it. */
function describeKeyServers(
  { keyServers, keyServerThreshold }: RelayerParts,
): Readonly<Record<string, unknown>> {
  return keyServers.length === 0 ? {} : { keyServers, keyServerThreshold };
}

/**
 * The routes of the ledger's JSON-RPC, which released clients read before their
 * first call, and where owners send transactions; none when the ledger is
 * remote. Clients know the URL from `/config`, some add a path of their own.
 */
export function rpcRoutes(
  { answerRpc, trustedProxies }: RelayerParts,
): readonly OpenRoute[] {
  if (answerRpc === undefined) return [];
  const ids = [["/", "rpcAtRoot"], ["/rpc", "rpc"]] as const;
  return ids.map(([path, id]): OpenRoute => ({
    access: "open",
    method: "POST",
    path,
    words: {
      id,
      tag: "service",
      summary: "Ask the embedded ledger, as JSON-RPC",
      description:
        "Where the relayer has a ledger of its own; errors are good " +
        "answers of HTTP. A call that wants no answer gets 204.",
      sent: {
        jsonrpc: "2.0",
        id: 1,
        method: "sui_getChainIdentifier",
        params: [],
      },
      answer: part({}, { jsonrpc: "2.0", id: 1, result: "4c78adac" }),
      means: "The result, or the error",
      others: { 204: "No answer was wanted" },
    },
    maxBodyBytes: MAX_SMALL_BODY_BYTES,
    body: shape({ description: "A call of JSON-RPC 2.0, or a list of them" }),
    answer({ body, request }) {
      const from = toClientGroup(request, trustedProxies);
      return jsonRpcAnswer(body, (json) => answerRpc(json, { from }));
    },
  }));
}

/** The routes about accounts. */
export function accountRoutes({ ledger }: RelayerParts): readonly Route[] {
  return [
    {
      access: "open",
      method: "GET",
      path: "/api/accounts/:owner/exists",
      words: {
        id: "accountExists",
        tag: "accounts",
        summary: "Check whether an owner has an account",
        answer: serviceAnswer("Exists"),
        means: "Whether there is one",
        others: { 400: "It is not an address" },
      },
      async answer({ params: { owner: text = "" } }) {
        const owner = normalizeLedgerId(text);
        if (owner === undefined) {
          return refused(
            400,
            `Cannot look up account: ${quote(text)} is not an address`,
          );
        }
        const outcome = await ledger.accountOfOwner(owner, "stranger");
        return outcome.kind === "unavailable"
          ? unavailable(
            "Cannot look up account: the ledger does not answer",
            outcome,
          )
          : ok({ exists: outcome.kind === "ok" });
      },
    },
    {
      access: "signed",
      method: "GET",
      path: "/api/whoami",
      words: {
        id: "whoami",
        tag: "accounts",
        summary: "Read the account of the key",
        answer: serviceAnswer("Who"),
        means: "The account",
      },
      token: READS,
      answer: ({ caller: { accountId, owner } }) =>
        ok({
          account_id: accountId,
          owner,
          package_id: ledger.packageId,
        }),
    },
  ];
}
