/**
 * Schemas of the probes and of what a kind of problem is.
 *
 * @module
 */

import { PROBLEM_CODES } from "../../http/problem_catalog.ts";
import { described, named, type Shape } from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  literal,
  text,
} from "../../../shared/schema/values.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import { anyJson } from "../../../shared/schema/json_value.ts";
import { record } from "../../../shared/schema/composite.ts";

/** That the process answers. */
export const HEALTH: Shape = named(
  "Health",
  described(object({ status: literal("ok") }), {
    examples: [{ status: "ok" }],
  }),
);

/** That the service does its work. */
export const READINESS: Shape = named(
  "Readiness",
  described(
    object({
      status: literal("ready"),
      durability: described(
        choice(["strict", "relaxed"]),
        "`strict`: an answer to a write comes after it is on disk",
      ),
      checks: described(
        record(
          object({ ready: boolean(), detail: optional(text()) }),
          { maxEntries: 100 },
        ),
        "What the service needs, by name",
      ),
    }),
    {
      examples: [{
        status: "ready",
        durability: "strict",
        checks: { store: { ready: true } },
      }],
    },
  ),
);

/** What a kind of problem is. */
export const PROBLEM_KIND: Shape = named(
  "ProblemKind",
  described(
    object({
      code: choice(PROBLEM_CODES),
      status: described(
        integer({ minimum: 400, maximum: 599 }),
        "The HTTP status code",
      ),
      title: text(),
      description: described(
        text(),
        "When it is answered and what to do about it",
      ),
      example: described(
        object({
          detail: text(),
          extensions: optional(anyJson({ maxBytes: 65_536 })),
        }),
        "What an answer may say",
      ),
    }),
    {
      examples: [{
        code: "not_found",
        status: 404,
        title: "There is no such thing",
        description: "The path is unknown, or the tenant has nothing with " +
          "this id",
        example: { detail: "Cannot find task: there is none with this id" },
      }],
    },
  ),
);
