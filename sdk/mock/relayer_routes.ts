// deno-fmt-ignore-file: made by a program
/**
 * Routes of the relayer with the schemas of their bodies, and limits. Made of
 * the relayer's routes by `deno task readme`: change these, not this file.
 *
 * @module
 */

const NAMESPACE = { type: "string", minLength: 1, maxLength: 255, default: "default" } as const;
const METADATA = { type: "object", propertyNames: {"minLength":1,"maxLength":64}, maxProperties: 32, values: { type: ["string","number","boolean"] } } as const;
const SUPERSEDES = { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9_-]{1,64}$" } as const;
const SCORING_WEIGHTS = { type: "object", members: {
  semantic: { type: "number", minimum: 0, maximum: 100, default: 1 },
  recency: { type: "number", minimum: 0, maximum: 100, default: 0 },
  recency_half_life_days: { type: "number", minimum: 0, maximum: 36500, default: 30 },
  importance: { type: "number", minimum: 0, maximum: 100, default: 0 },
}, isClosed: true } as const;
const VECTOR = { type: "array", minItems: 1536, maxItems: 1536, items: { type: "number" } } as const;

/** The routes by method and path. */
export const RELAYER_ROUTES = {
  "GET /health": { access: "open" },
  "GET /readyz": { access: "open" },
  "GET /version": { access: "open" },
  "GET /config": { access: "open" },
  "GET /api/whoami": { access: "signed", scope: "read" },
  "POST /api/remember": { access: "signed", scope: "write", body: {
    text: { type: "string", minLength: 1, maxLength: 1048576, isRequired: true },
    namespace: NAMESPACE,
    importance: { type: "number", minimum: 0, maximum: 1 },
    metadata: METADATA,
    supersedes: SUPERSEDES,
    idempotency_key: { type: "string", minLength: 1, maxLength: 255 },
  } },
  "POST /api/remember/bulk": { access: "signed", scope: "write", body: {
    items: { type: "array", minItems: 1, maxItems: 20, items: { type: "object", members: {
      text: { type: "string", minLength: 1, maxLength: 1048576, isRequired: true },
      namespace: NAMESPACE,
      importance: { type: "number", minimum: 0, maximum: 1 },
      metadata: METADATA,
      supersedes: SUPERSEDES,
    } }, isRequired: true },
    idempotency_key: { type: "string", minLength: 1, maxLength: 255 },
  } },
  "GET /api/remember/:id": { access: "signed", scope: "read" },
  "POST /api/remember/bulk/status": { access: "signed", scope: "read", body: {
    job_ids: { type: "array", minItems: 1, maxItems: 20, items: { type: "string", maxLength: 65536 }, isRequired: true },
  } },
  "POST /api/recall": { access: "signed", scope: "read", body: {
    query: { type: "string", minLength: 1, maxLength: 65536, isRequired: true },
    limit: { type: "number", minimum: 1 },
    namespace: NAMESPACE,
    sort: { type: "string", enum: ["relevance","recent"] },
    scoring_weights: SCORING_WEIGHTS,
    ranking: { type: "string", enum: ["semantic","fused"] },
    explain: { type: "boolean" },
    filter: METADATA,
    ids: { type: "array", minItems: 1, maxItems: 100, items: SUPERSEDES },
    deadline_ms: { type: "number", default: 60000 },
  } },
  "POST /api/remember/manual": { access: "signed", scope: "write", body: {
    encrypted_data: { type: "string", format: "byte" },
    blob_id: { type: "string", minLength: 1, maxLength: 128, pattern: "^[A-Za-z0-9_-]{1,128}$" },
    vector: { ...VECTOR, isRequired: true },
    namespace: NAMESPACE,
  } },
  "POST /api/recall/manual": { access: "signed", scope: "read", body: {
    vector: { ...VECTOR, isRequired: true },
    limit: { type: "number", minimum: 1, default: 10 },
    namespace: NAMESPACE,
    scoring_weights: SCORING_WEIGHTS,
    include_data: { type: "boolean", default: false },
    ranking: { type: "string", enum: ["semantic","fused"] },
  } },
  "POST /api/analyze": { access: "signed", scope: "write", body: {
    text: { type: "string", minLength: 1, maxLength: 65536, isRequired: true },
    namespace: NAMESPACE,
    occurred_at: { type: "string", format: "date-time" },
    keep: { type: "string", enum: ["statements","all"] },
  } },
  "POST /api/embed": { access: "signed", scope: "read", body: {
    text: { type: "string", minLength: 1, maxLength: 65536, isRequired: true },
  } },
  "POST /api/ask": { access: "signed", scope: "read", body: {
    question: { type: "string", minLength: 1, maxLength: 65536, isRequired: true },
    limit: { type: "number", minimum: 1, default: 5 },
    namespace: NAMESPACE,
    scoring_weights: SCORING_WEIGHTS,
    ranking: { type: "string", enum: ["semantic","fused"] },
    explain: { type: "boolean" },
  } },
  "POST /api/restore": { access: "signed", scope: "write", body: {
    namespace: NAMESPACE,
    limit: { type: "number", default: 10 },
  } },
  "POST /api/forget": { access: "signed", scope: "write", body: {
    namespace: NAMESPACE,
  } },
  "POST /api/stats": { access: "signed", scope: "read", body: {
    namespace: NAMESPACE,
  } },
  "DELETE /api/memories/:id": { access: "signed", scope: "write" },
  "GET /v1/owners/:owner/namespaces": { access: "owner", scope: "read" },
  "GET /v1/owners/:owner/memories": { access: "owner", scope: "read" },
} as const;

/** Limits that the schemas do not say. */
export const LIMITS = {
  facts: 20,
  waitSeconds: 20,
  recall: 100,
  defaultRecall: 10,
  page: 500,
  defaultPage: 100,
  snapshotVersion: 2,
  halfLifeDays: 0.000001,
  metadataValueBytes: 1024,
};
