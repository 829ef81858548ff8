/**
 * The body of requests that say all they have to say by their path.
 *
 * @module
 */

import { described, named } from "./annotated.ts";
import { object } from "./object.ts";
import type { Schema } from "./schema.ts";

/** An object without fields. */
export const NO_FIELDS: Schema<object> = named(
  "NoFields",
  described(object({}), {
    description: "An object without fields",
    examples: [{}],
  }),
);
