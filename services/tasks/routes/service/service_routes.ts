/**
 * The routes of the service itself: health and readiness, and with them those
 * of the document and of the kinds of problems.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { NotReplicatedError } from "../../../shared/postgres/replication.ts";
import { record } from "../../../shared/schema/composite.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import { described, named, type Shape } from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  literal,
  text,
} from "../../../shared/schema/values.ts";
import { describeError, settle, waitAtMost } from "../../../shared/settled.ts";
import type { IdentityProvider } from "../../access/identity_provider.ts";
import type { MasterKeyWatch } from "../../engine/common_keys.ts";
import type { Instances } from "../../../shared/instances.ts";
import type { SecretsWorker } from "../../engine/secrets_worker.ts";
import { json } from "../../http/answer.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { StoreMovedError } from "../../store/moved.ts";
import type { Store } from "../../store/store.ts";
import type { ApiParts, Readiness } from "../api_parts.ts";
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

/** How long a readiness report is reused, in milliseconds. */
const REPORT_MS = 1_000;

/** How long making a report may take, in milliseconds. */
const REPORT_TIMEOUT_MS = 8_000;

/** The state of an instance after SIGTERM, while it still answers. */
const STOPPING: Readiness = { isReady: false, detail: "it is stopping" };

/** The state of every part that the service needs, by name. */
type ReadinessReport = Readonly<Record<string, Readiness>>;

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
  const checks: Record<string, Readiness> = {};
  const checked = await settle(() => store.check());
  if (checked.kind === "ok") {
    const detail = checked.value;
    checks.store = {
      isReady: true,
      ...(detail === undefined ? {} : { detail }),
    };
  } else {
    // The reason names files, so it is logged and not shown to anonymous
    // callers.
    logger.warn("Cannot use the store: it is not ready", {
      reason: describeError(checked.error),
    });
    checks.store = {
      isReady: false,
      detail: checked.error instanceof NotReplicatedError
        ? checked.error.message
        : checked.error instanceof StoreMovedError
        ? "its data has moved to another store"
        : "it cannot be read or written",
    };
  }
  if (!await instances.mayAct()) {
    checks.instance = {
      isReady: false,
      detail: "its signs of life do not reach the store, so others take over",
    };
  }
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

/** Checks readiness once for all callers who ask at the same time. */
export class ReadinessCheck {
  readonly #ask: () => Promise<ReadinessReport>;
  readonly #clock: Clock;
  #underWay: Promise<ReadinessReport> | undefined;
  #last:
    | { readonly report: ReadinessReport; readonly atMs: number }
    | undefined;

  /** Nothing is checked yet; `ask` makes a report and may throw. */
  constructor(ask: () => Promise<ReadinessReport>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** The state now or a moment ago; never rejects. */
  async report(): Promise<ReadinessReport> {
    const ageMs = this.#clock.nowMs() - (this.#last?.atMs ?? -Infinity);
    if (this.#last !== undefined && ageMs >= 0 && ageMs < REPORT_MS) {
      return this.#last.report;
    }
    this.#underWay ??= this.#renewed().finally(() =>
      this.#underWay = undefined
    );
    return await this.#underWay;
  }

  async #renewed(): Promise<ReadinessReport> {
    const clock = this.#clock;
    const outcome = await waitAtMost(settle(this.#ask), {
      clock,
      timeoutMs: REPORT_TIMEOUT_MS,
    });
    const report = outcome === "late"
      ? failing("it did not answer in time")
      : outcome.kind === "ok"
      ? outcome.value
      : failing(describeError(outcome.error));
    this.#last = { report, atMs: clock.nowMs() };
    return report;
  }
}

function failing(detail: string): ReadinessReport {
  return { readiness: { isReady: false, detail } };
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
  const check = new ReadinessCheck(readiness, engine.parts.clock);
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
      const report = Object.entries({
        ...await check.report(),
        // Not remembered for a second as the others are: a balancer that asks
        // now is to send no further requests.
        ...(isStopping() ? { instance: STOPPING } : {}),
      });
      const checks = Object.fromEntries(
        report.map((
          [name, { isReady: ready, ...facts }],
        ) => [name, { ready, ...facts }]),
      );
      const failing = report.filter(([, { isReady }]) => !isReady)
        .map(([name]) => name);
      if (failing.length === 0) {
        return json({ status: "ready", durability, checks });
      }
      return problem("not_ready", {
        detail: `Cannot serve: ${failing.join(", ")} not ready`,
        extensions: { durability, checks },
        retryAfterMs: 2_000,
      });
    },
  });
}
