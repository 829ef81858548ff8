/**
 * Finds what a document says nothing of, for tests: schemas, members and
 * parameters without a description, or with one that only repeats the name.
 *
 * @module
 */

import { isJsonObject, type JsonSchema } from "../../schema/schema.ts";
import { describedAs, repeatsName } from "./description.ts";
import {
  type OpenApiDocument,
  type OpenApiParameter,
  type OpenApiResponse,
  resolved,
} from "../document.ts";

/**
 * The places of a document whose description is missing or says nothing. A
 * reference is described where it leads to.
 */
export function undescribed(document: OpenApiDocument): readonly string[] {
  const { schemas, parameters = {}, responses = {} } = document.components;
  const found: string[] = [];
  const check = (at: string, name: string, text: string | undefined): void => {
    if (text === undefined) found.push(`${at}: has no description`);
    else if (repeatsName(name, text)) {
      found.push(`${at}: "${text}" is its name`);
    }
  };
  const look = (at: string, schema: unknown): void => {
    if (!isJsonObject(schema)) return;
    const { properties = {}, anyOf = [], ...rest }: JsonSchema = schema;
    for (const [name, member] of Object.entries(properties)) {
      check(`${at}.${name}`, name, describedAs(member, schemas));
      look(`${at}.${name}`, member);
    }
    for (const one of anyOf) look(at, one);
    look(`${at}[]`, rest.items);
    look(`${at}.*`, rest.additionalProperties);
    for (const one of Object.values(rest.patternProperties ?? {})) {
      look(`${at}.*`, one);
    }
  };
  const lookAtParameter = (at: string, one: OpenApiParameter): void => {
    check(`${at} ${one.name}`, one.name, one.description);
    look(`${at} ${one.name}`, one.schema);
  };
  const lookAtResponse = (at: string, one: OpenApiResponse): void => {
    for (const media of Object.values(one.content ?? {})) {
      look(at, media.schema);
    }
  };
  for (const [name, schema] of Object.entries(schemas)) {
    check(name, name, describedAs(schema, schemas));
    look(name, schema);
  }
  for (const one of Object.values(parameters)) lookAtParameter("any", one);
  for (const [name, one] of Object.entries(responses)) {
    lookAtResponse(name, one);
  }
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const at = `${method} ${path}`;
      for (const one of operation.parameters ?? []) {
        lookAtParameter(at, resolved<OpenApiParameter>(document, one));
      }
      for (const media of Object.values(operation.requestBody?.content ?? {})) {
        look(at, media.schema);
      }
      for (const [status, one] of Object.entries(operation.responses)) {
        lookAtResponse(
          `${at} ${status}`,
          resolved<OpenApiResponse>(document, one),
        );
      }
    }
  }
  return [...new Set(found)];
}
