/**
 * The routes of the service itself: health and readiness, and with them those
 * of the document and of the kinds of problems.
 *
 * @module
 */

import {
  type Readiness,
  ReadinessCheck,
  type ReadinessReport,
  storeReadiness,
} from "../../../shared/http/readiness.ts";
import type { Logger } from "../../../shared/logger.ts";
import { record } from "../../../shared/schema/composite.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import { described, named, type Shape } from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  literal,
  text,
} from "../../../shared/schema/values.ts";
import type { IdentityProvider } from "../../access/identity_provider.ts";
import type { MasterKeyWatch } from "../../engine/common_keys.ts";
import type { Instances } from "../../../shared/instances.ts";
import type { SecretsWorker } from "../../engine/secrets_worker.ts";
import { json } from "../../http/answer.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { StoreMovedError } from "../../store/moved.ts";
import type { Store } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import { documentRoutes } from "./document_routes.ts";
import { problemRoute } from "./problem_route.ts";
import { SERVICE_ROUTE } from "./public_page.ts";

/** The answer that the process is alive. */
const HEALTH: Shape = named(
  "Health",
  object({
    status: described(literal("ok"), "Always so when the process answers"),
  }),
  {
    description: "That the process answers",
    examples: [{ status: "ok" }],
  },
);

/** The answer that the service is ready. */
const READINESS: Shape = named(
  "Readiness",
  object({
    status: described(literal("ready"), "Always so; else it is a problem"),
    durability: described(
      choice(["strict", "relaxed", "replicated"]),
      "`strict`: an answer to a write comes after it is on disk; " +
        "`replicated`: on those of two servers",
    ),
    checks: described(
      record(
        object({
          ready: described(boolean(), "Whether this part does its work"),
          detail: optional(text(), "What is wrong with it, or odd"),
        }),
        { maxEntries: 100 },
      ),
      "What the service needs, by name",
    ),
  }),
  {
    description: "That the service takes requests",
    examples: [{
      status: "ready",
      durability: "strict",
      checks: { store: { ready: true } },
    }],
  },
);

/** The parts that readiness depends on. */
interface NeededParts {
  /** Must be readable and writable. */
  readonly store: Pick<Store, "check">;
  /** Must answer, where an identity provider is configured. */
  readonly identityProvider: Pick<IdentityProvider, "check"> | undefined;
  /** Knows whether this instance may act. */
  readonly instances: Pick<Instances, "mayAct">;
  /** Knows the tenants whose secrets cannot be opened. */
  readonly secretsWorker: Pick<SecretsWorker, "unopenedTenants">;
  /** Knows whether other instances have other master keys. */
  readonly masterKeyWatch: Pick<MasterKeyWatch, "isDifferent">;
  /**
   * Logs why the store is not ready; the identity provider logs its own
   * reasons.
   */
  readonly logger: Logger;
}

/** Checks every part that the service needs. */
export async function askReadiness(
  needed: NeededParts,
): Promise<ReadinessReport> {
  const { store, identityProvider, instances, logger } = needed;
  const { secretsWorker, masterKeyWatch } = needed;
  const checks: Record<string, Readiness> = {
    ...await storeReadiness({
      ...{ store, instances, logger },
      describe: (error) =>
        error instanceof StoreMovedError
          ? "its data has moved to another store"
          : undefined,
    }),
  };
  if (identityProvider !== undefined) {
    const outcome = await identityProvider.check();
    checks.idp = outcome.kind === "ok"
      ? { isReady: true }
      : { isReady: false, detail: outcome.kind };
  }
  // Everything else works, so the service is ready. The number is not for
  // anonymous callers.
  if (masterKeyWatch.isDifferent) {
    checks.secrets = {
      isReady: true,
      detail: "another instance has other master keys, so that one may seal " +
        "secrets which the other cannot open",
    };
  } else if (secretsWorker.unopenedTenants > 0) {
    checks.secrets = {
      isReady: true,
      detail: "some tenants' secrets cannot be opened with the master keys " +
        "that are configured",
    };
  }
  return checks;
}

/**
 * The routes that every host offers. `routes` returns all routes, these among
 * them; it is called at the first request for the document.
 */
export function serviceRoutes(
  parts: ApiParts,
  routes: () => readonly AnyRoute[],
): readonly AnyRoute[] {
  return [
    healthRoute(),
    readinessRoute(parts),
    ...documentRoutes(parts.accounts.serviceHost, routes),
    problemRoute(),
  ];
}

function healthRoute(): AnyRoute {
  return defineRoute({
    ...SERVICE_ROUTE,
    path: "/healthz",
    operationId: "getHealth",
    summary: "Check that the process answers",
    answers: { 200: { description: "It does", shape: HEALTH } },
    problems: [],
    handle: () => json({ status: "ok" }),
  });
}

function readinessRoute(
  { readiness, isStopping, durability, engine }: ApiParts,
): AnyRoute {
  const check = new ReadinessCheck({
    ...{ ask: readiness, isStopping },
    clock: engine.parts.clock,
  });
  return defineRoute({
    ...SERVICE_ROUTE,
    path: "/readyz",
    operationId: "getReadiness",
    summary: "Check that the service is ready",
    description: "503 with the same checks as long as it does not, and while " +
      "it is stopping.",
    answers: {
      200: { description: "It does", shape: READINESS },
    },
    problems: ["not_ready"],
    handle: async () => {
      const { checks, fault: detail } = await check.answer();
      if (detail === undefined) {
        return json({ status: "ready", durability, checks });
      }
      return problem("not_ready", {
        detail,
        extensions: { durability, checks },
        retryAfterMs: 2_000,
      });
    },
  });
}
