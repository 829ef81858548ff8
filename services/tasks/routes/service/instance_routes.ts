/**
 * The operator's route that lists the instances of the service.
 *
 * @module
 */

import { list } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import {
  described,
  findExample,
  named,
} from "../../../shared/schema/schema.ts";
import { boolean, integer, text } from "../../../shared/schema/values.ts";
import { utcTime } from "../../domain/instant.ts";
import type { Instances } from "../../../shared/instances.ts";
import { json } from "../../http/answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { shownTime } from "../record_table.ts";

const INSTANCE = named(
  "Instance",
  object({
    id: described(text({ maxLength: 64 }), "Another one with each start"),
    epoch: described(
      integer({ minimum: 1 }),
      "Rises with each instance that joins",
    ),
    version: described(text({ maxLength: 100 }), "The version of the program"),
    address: described(text({ maxLength: 300 }), "Where it listens"),
    joined_at: shownTime("When it joined, by the store's time"),
    seen_at: shownTime("When it was last seen, by the store's time"),
    duties: described(
      list(text({ maxLength: 100 }), { maxItems: 100 }),
      "The background work that it does for all",
    ),
    is_answering: described(boolean(), "Whether it is the one that answers"),
  }),
  {
    description: "A running instance of the service",
    examples: [{
      id: "boot_06f1cdq1s5n0q2v4x7z9b3d5f8",
      epoch: 3,
      version: "0.1.0",
      address: "10.0.0.7:8070",
      joined_at: "2027-01-15T08:00:00.000Z",
      seen_at: "2027-01-15T09:30:00.000Z",
      duties: ["recover", "wake"],
      is_answering: true,
    }],
  },
);

const INSTANCES = named(
  "InstanceList",
  object({
    data: described(list(INSTANCE, { maxItems: 1_000 }), "All there are"),
  }),
  {
    description: "The running instances of the service",
    examples: [{ data: [findExample(INSTANCE) ?? {}] }],
  },
);

/** The instances as the API shows them, in the order in which they joined. */
function viewInstances({ id: ownId, members, duties }: Instances) {
  return members.map(({ id, epoch, version, address, ...times }) => ({
    ...{ id, epoch, version, address },
    joined_at: utcTime(times.joinedAtMs),
    seen_at: utcTime(times.seenAtMs),
    duties: duties.filter(({ holder }) => holder === id)
      .map(({ name }) => name),
    is_answering: id === ownId,
  }));
}

/** The route that lists the instances, at the operator's host. */
export function instancesRoute({ engine }: ApiParts): AnyRoute {
  const { instances } = engine.parts;
  return defineRoute({
    method: "GET",
    path: "/v1/instances",
    hosts: "accounts_admin",
    operationId: "listInstances",
    summary: "List the running instances of the service",
    description: "As the instance that answers has learned with its last " +
      "beat, which is two seconds old at most.",
    tags: ["operator"],
    access: { kind: "operator" },
    answers: { 200: { description: "The instances", shape: INSTANCES } },
    problems: [],
    handle: () => json({ data: viewInstances(instances) }),
  });
}
