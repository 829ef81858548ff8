/**
 * Makes one decision, from the request to the answer, in one pass: plan, ask
 * the store once, judge, record.
 *
 * @module
 */

import {
  CODE,
  type RateLimitResponse,
} from "../../../proto/rate_limit_response.ts";
import type { JsonObject } from "../../../proto/struct.ts";
import type { RequestView } from "../../../proto/request_view.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Pausing } from "../../shared/slices.ts";
import type {
  CounterAnswer,
  CounterOperation,
  CounterResult,
  CounterStore,
} from "../counters/counter_store.ts";
import {
  type CounterKeyFormat,
  CounterKeyWriter,
} from "../rules/counter_key.ts";
import type { Rule, Snapshot } from "../rules/snapshot.ts";
import { requestMetadata } from "./dynamic_metadata.ts";
import {
  composeResponse,
  judgeDescriptor,
  type Judgement,
  judgePlanned,
  type LimitHeaderNames,
} from "./judge.ts";
import {
  type InvalidRequest,
  type Plan,
  type PlannedLimit,
  planRequest,
} from "./plan.ts";
import type { RuleTally, StatsRecorder } from "./stats_recorder.ts";
import { UnknownDomains } from "./unknown_domains.ts";

/** The outcome of a request. */
export type Decision =
  /** An answer. */
  | { readonly kind: "decided"; readonly response: RateLimitResponse }
  /** The request itself is wrong. */
  | InvalidRequest
  /** There are no rules, or the store did not answer. */
  | {
    readonly kind: "unavailable";
    readonly cause: "configuration" | "store";
    readonly reason: string;
  };

/** A decision with the plan it was made by. */
export interface MadeDecision {
  /** The plan for each descriptor. */
  readonly plan: Plan;
  /** The answer. */
  readonly response: RateLimitResponse;
}

/** Watches decisions without taking part in them; must not throw. */
export interface DecisionWatcher {
  /**
   * Called before a request is decided, while its view may be read.
   *
   * @returns A function that takes the decision, or undefined when none could
   * be made. Undefined when this request isn't watched.
   */
  begin(
    view: RequestView,
    nowSeconds: number,
  ): ((made: MadeDecision | undefined) => void) | undefined;
}

/** Watches limits that are exceeded; must not throw. */
export interface OverLimitWatcher {
  /**
   * Called for each limit that refuses hits, or would without shadow mode.
   *
   * @param keys Holds the key of the counter; valid until this returns.
   * @param operation What was asked of the counter.
   * @param rule The rule; undefined for a limit that came with the request.
   */
  note(keys: Uint8Array, operation: CounterOperation, rule?: Rule): void;
  /**
   * Called for each call that the store answers later, while its keys are
   * valid.
   *
   * @returns What is called for its limits then; undefined when they aren't
   * watched.
   */
  keep(keys: Uint8Array, length: number): OverLimitNote | undefined;
}

/** Takes a limit that was exceeded. */
export type OverLimitNote = (operation: CounterOperation, rule?: Rule) => void;

/** How decisions are made. */
interface DeciderOptions {
  /** Keeps the counters. */
  readonly store: CounterStore;
  /** Counts the statistics. */
  readonly recorder: StatsRecorder;
  /**
   * How counter keys are written; must be the format that the snapshots were
   * compiled with.
   *
   * @default "escaped"
   */
  readonly keyFormat?: CounterKeyFormat;
  /**
   * Share of a limit above which hits count as near it.
   *
   * @default 0.8
   */
  readonly nearLimitRatio?: number;
  /**
   * True to make the overall code always OK; the statuses keep the real
   * decisions.
   *
   * @default false
   */
  readonly shadowMode?: boolean;
  /**
   * True to treat every descriptor as a quota.
   *
   * @default false
   */
  readonly quotaMode?: boolean;
  /**
   * True to only read the other counters of a request when one of its limits is
   * exceeded.
   *
   * @default false
   */
  readonly stopWhenOver?: boolean;
  /** Names of the headers to add to answers; undefined adds none. */
  readonly headers?: LimitHeaderNames | undefined;
  /**
   * True to add dynamic metadata to answers.
   *
   * @default false
   */
  readonly dynamicMetadata?: boolean;
  /**
   * Watches the decisions.
   *
   * @default no watcher
   */
  readonly watcher?: DecisionWatcher | undefined;
  /**
   * Watches limits that are exceeded.
   *
   * @default no watcher
   */
  readonly overLimit?: OverLimitWatcher | undefined;
  /**
   * Gets a warning of each domain that requests name and no rules have.
   *
   * @default no warnings
   */
  readonly logger?: Pick<Logger, "warn"> | undefined;
}

interface Serving {
  readonly snapshot: Snapshot;
  readonly rules: RuleTally;
  readonly unknown: UnknownDomains | undefined;
}

interface Pending {
  readonly plan: Plan;
  readonly serving: Serving;
  readonly nowSeconds: number;
  readonly requestMetadata: JsonObject | undefined;
  readonly watch: ReturnType<DecisionWatcher["begin"]>;
  /** Takes exceeded limits; "now" while the keys of the plan are valid. */
  note: OverLimitNote | undefined | "now";
}

/** Decides requests by the snapshot that was adopted last. */
export class Decider {
  readonly #options: DeciderOptions;
  /**
   * A store has finished with the keys when it returns, so one writer serves
   * all calls.
   */
  readonly #keys: CounterKeyWriter;
  #serving: Serving | undefined;

  /** Makes a decider without rules; see `adopt`. */
  constructor(options: DeciderOptions) {
    this.#options = options;
    this.#keys = new CounterKeyWriter(options.keyFormat ?? "escaped");
  }

  /** The current rules; undefined before the first. */
  get snapshot(): Snapshot | undefined {
    return this.#serving?.snapshot;
  }

  /** Puts rules into force. A call in flight keeps the rules it began with. */
  adopt(snapshot: Snapshot): void {
    const { recorder, logger } = this.#options;
    this.#serving = {
      snapshot,
      rules: recorder.createTally(snapshot),
      unknown: logger && new UnknownDomains(snapshot.domainNames, logger),
    };
  }

  /**
   * Creates the statistics of all current rules, so that rules without hits are
   * shown as well; works on a few rules at a time between decisions.
   */
  async showStatistics(pausing: Pausing): Promise<void> {
    await this.#serving?.rules.showAll(pausing);
  }

  /**
   * Decides one request. `view` is read before this returns and may be filled
   * again after it, even while a promise is pending.
   *
   * @param nowSeconds Time of the call in whole Unix seconds.
   * @returns The decision, without a promise if the store answers without one.
   */
  decide(
    view: RequestView,
    nowSeconds: number,
  ): Decision | Promise<Decision> {
    return this.decideAs(view, { nowSeconds, answer: (decision) => decision });
  }

  /**
   * Decides as {@linkcode Decider.decide} does, and answers with what `answer`
   * makes of the decision. This takes fewer promises than a `then`.
   */
  decideAs<Answer>(
    view: RequestView,
    { nowSeconds, answer: toAnswer }: {
      readonly nowSeconds: number;
      readonly answer: (decision: Decision) => Answer;
    },
  ): Answer | Promise<Answer> {
    const serving = this.#serving;
    if (serving === undefined) {
      return toAnswer({
        kind: "unavailable",
        cause: "configuration",
        reason: "no rate limit configuration loaded",
      });
    }
    const plan = planRequest(view, {
      snapshot: serving.snapshot,
      keys: this.#keys,
    });
    if (plan.kind === "invalid") return toAnswer(plan);
    if (plan.domain === undefined) {
      const domain = view.text(view.domainStart, view.domainEnd);
      this.#options.recorder.domainNotFound(domain, view.descriptorCount);
      serving.unknown?.note(domain);
    }
    const { overLimit } = this.#options;
    const pending: Pending = {
      plan,
      serving,
      nowSeconds,
      requestMetadata: this.#options.dynamicMetadata === true
        ? requestMetadata(view)
        : undefined,
      watch: this.#options.watcher?.begin(view, nowSeconds),
      note: overLimit && "now",
    };
    if (plan.operations.length === 0) {
      return toAnswer(this.#answer([], pending));
    }
    const answer = this.#options.store.apply({
      domain: plan.domain ?? "",
      keys: plan.keys,
      operations: plan.operations,
      nowSeconds,
      stopWhenOver: !plan.countWhenLimited ||
        (this.#options.stopWhenOver ?? false),
    });
    if (!(answer instanceof Promise)) {
      return toAnswer(this.#settle(answer, pending));
    }
    // Another call may write its keys over these before the answer is here.
    const { length } = plan.operations;
    pending.note = overLimit?.keep(
      plan.keys,
      plan.operations[length - 1]!.keyEnd,
    );
    return answer.then((settled) => toAnswer(this.#settle(settled, pending)));
  }

  #settle(answer: CounterAnswer, pending: Pending): Decision {
    if (answer.kind === "counted") return this.#answer(answer.results, pending);
    pending.watch?.(undefined);
    return { kind: "unavailable", cause: "store", reason: answer.reason };
  }

  #answer(results: readonly CounterResult[], pending: Pending): Decision {
    const { plan, watch } = pending;
    const judge = (limit: PlannedLimit): Judgement =>
      this.#judge(limit, { results, pending });
    const judged = plan.descriptors.map((planned) => {
      if (planned.kind === "unlimited") {
        pending.serving.rules.unlimited(planned);
      }
      return judgeDescriptor(planned, judge);
    });
    const response = this.#shadowed(composeResponse(judged, {
      quotaMode: this.#options.quotaMode ?? false,
      headers: this.#options.headers,
      requestMetadata: pending.requestMetadata,
    }));
    watch?.({ plan, response });
    return { kind: "decided", response };
  }

  #shadowed(response: RateLimitResponse): RateLimitResponse {
    const isOver = response.overallCode === CODE.OVER_LIMIT;
    if (!isOver || this.#options.shadowMode !== true) return response;
    this.#options.recorder.globalShadow();
    return { ...response, overallCode: CODE.OK };
  }

  /** Judges by a limit, and counts that in the statistics. */
  #judge(
    planned: PlannedLimit,
    { results, pending }: {
      readonly results: readonly CounterResult[];
      readonly pending: Pending;
    },
  ): Judgement {
    const { operation, rule, hits } = planned;
    const { plan, note, serving, nowSeconds } = pending;
    const judgement = judgePlanned(planned, results[operation]!, {
      nowSeconds,
      nearLimitRatio: this.#options.nearLimitRatio ?? 0.8,
    });
    serving.rules.limited(planned, judgement);
    const isOver = judgement.code === CODE.OVER_LIMIT && hits > 0;
    if (isOver && note !== undefined) {
      const asked = plan.operations[operation]!;
      if (note !== "now") note(asked, rule);
      else this.#options.overLimit?.note(plan.keys, asked, rule);
    }
    return judgement;
  }
}
