/**
 * A small document with one of everything, for tests.
 *
 * @module
 */

import type { OpenApiDocument } from "../document.ts";

/** Notes: one operation that makes them, one that reads them. */
export const SAMPLE: OpenApiDocument = {
  openapi: "3.1.0",
  info: {
    title: "Notes <of> all",
    version: "1.2.0",
    description: "Keeps `notes`.\n\nFor & by all.",
  },
  servers: [{ url: "/" }],
  tags: [{ name: "notes", description: "What is written down" }],
  paths: {
    "/notes": {
      post: {
        operationId: "makeNote",
        summary: "Make a <note>",
        tags: ["notes"],
        parameters: [{ $ref: "#/components/parameters/Mark" }],
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: { $ref: "#/components/schemas/NewNote" },
              example: { text: "it's <b>" },
            },
          },
        },
        responses: {
          201: {
            description: "It is made",
            headers: {
              location: { description: "Where", schema: { type: "string" } },
            },
            content: {
              "application/json": {
                schema: { $ref: "#/components/schemas/Note" },
                example: { id: "n1", text: "hello" },
              },
            },
          },
          404: { $ref: "#/components/responses/NotThere" },
        },
        security: [{ key: ["notes:write"] }, { name: [] }],
      },
    },
    "/notes/{id}": {
      get: {
        operationId: "readNote",
        summary: "Read a note",
        tags: ["notes"],
        servers: [{
          url: "https://{who}.example.com/api",
          variables: {
            who: { default: "acme" },
          },
        }],
        parameters: [
          {
            name: "id",
            in: "path",
            required: true,
            schema: { type: "string", examples: ["n 1"] },
          },
          {
            name: "lines",
            in: "query",
            required: true,
            schema: { type: "integer", minimum: 1, default: 5 },
          },
        ],
        responses: {
          200: {
            description: "The note",
            content: {
              "application/json": {
                schema: { $ref: "#/components/schemas/Note" },
                example: { id: "n1", text: "hello" },
              },
            },
          },
          429: { description: "Too many: wait" },
        },
        security: [],
      },
    },
  },
  components: {
    schemas: {
      NewNote: {
        type: "object",
        required: ["text"],
        properties: {
          text: { type: "string", maxLength: 500, description: "What it says" },
          color: { enum: ["red", "blue"], default: "red" },
        },
        additionalProperties: false,
      },
      Note: {
        type: "object",
        required: ["id", "text"],
        properties: {
          id: { type: "string", readOnly: true },
          text: { anyOf: [{ type: "string" }, { type: "null" }] },
          parts: {
            type: "array",
            items: { $ref: "#/components/schemas/Note" },
            maxItems: 3,
          },
        },
      },
    },
    parameters: {
      Mark: {
        name: "x-mark",
        in: "header",
        required: true,
        schema: { type: "string", examples: ["m1"] },
      },
    },
    responses: {
      NotThere: {
        description: "`not_found`: it is not there",
        content: {
          "application/json": {
            schema: { type: "object" },
            examples: {
              not_found: { $ref: "#/components/examples/not_found" },
            },
          },
        },
      },
    },
    examples: {
      not_found: {
        summary: "It is not there",
        description: "Look elsewhere.",
        value: { code: "not_found" },
      },
    },
    securitySchemes: {
      key: { type: "http", scheme: "bearer", description: "A key" },
      name: {
        type: "apiKey",
        in: "header",
        name: "x-name",
        description: "A name",
      },
    },
  },
};
