/**
 * Tells whether a value fits a JSON Schema, for tests: by Ajv (JSON Schema
 * 2020-12), which knows nothing of the readers that it judges.
 *
 * @module
 */

import {
  Ajv2020,
  type ErrorObject,
  type ValidateFunction,
} from "npm:ajv@^8.20.0/dist/2020.js";
import addFormats from "npm:ajv-formats@^3.0.1";
import type { JsonSchema, Shape } from "../schema.ts";

const ajv = new Ajv2020({
  allErrors: true,
  allowUnionTypes: true,
  // A schema may bound what another keyword says the type of.
  strictTypes: false,
  strictRequired: false,
});
addFormats.default(ajv);
// Where documents keep the schemas that others refer to.
ajv.addKeyword("components");

const validators = new WeakMap<JsonSchema, ValidateFunction>();

/**
 * What keeps a value, as JSON has it, from fitting a schema, as lines of
 * `pointer: fault`; none when it fits.
 *
 * @throws {Error} when the schema has a keyword that is not known, or refers to
 * a schema that is not there
 */
export function misfits(value: unknown, shape: Shape): readonly string[] {
  const validate = getValidator(shape);
  // Members that are undefined are none in JSON.
  const text = JSON.stringify(value);
  validate(text === undefined ? undefined : JSON.parse(text));
  return (validate.errors ?? []).map(formatLine);
}

function getValidator({ json, definitions }: Shape): ValidateFunction {
  let validate = validators.get(json);
  if (validate === undefined) {
    const schemas = Object.fromEntries(definitions());
    validate = ajv.compile({ ...json, components: { schemas } });
    validators.set(json, validate);
  }
  return validate;
}

function formatLine({ instancePath, message, params }: ErrorObject): string {
  // A member that should not be there is where the fault is.
  const { additionalProperty: member, ...facts } = params;
  const at = member === undefined ? instancePath : `${instancePath}/${member}`;
  return `${at}: ${message} ${JSON.stringify(facts)}`;
}
