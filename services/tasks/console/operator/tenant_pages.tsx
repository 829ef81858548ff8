/**
 * The operator's pages of tenants: the list with the form that makes one, and
 * the page of each.
 *
 * @module
 */

import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import {
  Badge,
  FactList,
  Time,
  type Tone,
} from "../../../shared/console/parts.tsx";
import { Pager, Table } from "../../../shared/console/table.tsx";
import type { ApiAnswer, ApiQuestion } from "../../http/ask_api.ts";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  NO_FAULTS,
  textOf,
} from "../parts/form_faults.tsx";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";
import { fieldsOf } from "../tasks/task_form.tsx";

/** Tenants of a page. */
const LIMIT = 50;

const FIELDS = ["domain", "plan", "timezone", "status"];

interface ShownTenant {
  readonly id: string;
  readonly domain: string;
  readonly url: string | null;
  readonly status: "active" | "suspended" | "closing";
  readonly plan: string;
  readonly timezone: string;
  readonly created_at: string;
  readonly updated_at: string;
}

async function ask(
  page: PageCall,
  question: Omit<ApiQuestion, "host">,
): Promise<ApiAnswer> {
  return await page.ask({ ...question, host: "accounts_admin" });
}

const TONES: Readonly<Record<ShownTenant["status"], Tone>> = {
  active: "good",
  suspended: "warn",
  closing: "dim",
};

function TenantBadge({ status }: Pick<ShownTenant, "status">): VNode {
  return (
    <Badge tone={TONES[status]} isHollow={status !== "active"}>{status}</Badge>
  );
}

/** Shows a page of the list. */
export async function tenantListPage(page: PageCall): Promise<PageAnswer> {
  const domain = page.query.get("domain")?.trim().toLowerCase() ?? "";
  return domain === "" ? await showList(page, NO_FAULTS) : {
    kind: "redirect",
    to: `${page.base}/tenants/${encodeURIComponent(domain)}`,
  };
}

/** Makes a tenant, and shows the key of its owner. */
export async function createTenant(page: PageCall): Promise<PageAnswer> {
  const { base, form } = page;
  const domain = textOf(form, "domain") ?? "";
  const answer = await ask(page, {
    method: "PUT",
    path: `/${encodeURIComponent(domain)}`,
    headers: { "if-none-match": "*" },
    body: { plan: textOf(form, "plan"), timezone: textOf(form, "timezone") },
  });
  const faults = formFaults(answer, FIELDS);
  if (faults !== undefined) return await showList(page, faults);
  const { owner_key: key } = answer.body as { readonly owner_key: string };
  return shownOncePage({
    title: `Tenant ${domain}`,
    about: "The tenant is made. Its owner signs in with this key.",
    secrets: [["Key of the owner", key]],
    back: `${base}/tenants/${encodeURIComponent(domain)}`,
    backText: "To the tenant",
  });
}

async function planChoices(
  page: PageCall,
): Promise<readonly (readonly [string, string])[]> {
  const answer = await page.ask({ host: "apex", path: "/plans" });
  const { data = [] } = answer.body as {
    readonly data?: readonly { readonly id: string }[];
  };
  return data.map(({ id }) => [id, id] as const);
}

async function showList(
  page: PageCall,
  faults: FormFaults,
): Promise<PageAnswer> {
  const { base, csrf, form, query } = page;
  const cursor = query.get("cursor") ?? "";
  const asked = Object.entries({ limit: String(LIMIT), cursor })
    .filter(([, value]) => value !== "");
  const [answer, plans] = await Promise.all([
    ask(page, { path: "/", query: new URLSearchParams(asked) }),
    planChoices(page),
  ]);
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data, next } = answer.body as ShownList<ShownTenant>;
  const path = `${base}/tenants`;
  const field = fieldsOf(form, faults.of);
  return {
    kind: "page",
    title: "Tenants",
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <>
        <search class="section">
          <form method="get" action={path} class="filters">
            <div class="field">
              <label for="find">Domain or id</label>
              <input
                id="find"
                name="domain"
                type="search"
                autocomplete="off"
                data-search=""
              />
            </div>
            <div class="row">
              <button type="submit" class="primary">Show</button>
            </div>
          </form>
        </search>
        <section>
          {data.length === 0 ? <p class="dim">There are no tenants.</p> : (
            <Table
              label="Tenants"
              rows={data}
              columns={[
                {
                  name: "Domain",
                  cell: ({ domain }) => (
                    <a href={`${path}/${encodeURIComponent(domain)}`}>
                      {domain}
                    </a>
                  ),
                },
                {
                  name: "Status",
                  cell: ({ status }) => <TenantBadge status={status} />,
                },
                { name: "Plan", cell: ({ plan }) => plan },
                { name: "Time zone", cell: ({ timezone }) => timezone },
                {
                  name: "Created",
                  cell: ({ created_at: at }) => <Time at={at} />,
                },
              ]}
            />
          )}
          <Pager
            first={cursor === "" ? undefined : path}
            next={next === null ? undefined : withQuery(path, { cursor: next })}
          />
        </section>
        <section aria-labelledby="new" class="narrow">
          <h2 id="new">Make a tenant</h2>
          <form method="post" action={path}>
            <FaultsNote faults={faults} />
            <CsrfField csrf={csrf} />
            <TextField
              {...field("domain")}
              label="Domain"
              placeholder="acme"
              hint="The label of its host name."
              isRequired
            />
            <div class="grid">
              <ChoiceField {...field("plan")} label="Plan" choices={plans} />
              <TextField
                {...field("timezone")}
                label="Time zone"
                placeholder="UTC"
              />
            </div>
            <button type="submit" class="primary">Make</button>
          </form>
        </section>
      </>
    ),
  };
}

/** Shows a tenant. */
export async function tenantPage(page: PageCall): Promise<PageAnswer> {
  return await showTenant(page, NO_FAULTS);
}

/** Changes or removes a tenant. */
export async function changeTenant(page: PageCall): Promise<PageAnswer> {
  const { base, form, params } = page;
  const path = `/${encodeURIComponent(params.domain ?? "")}`;
  if (form.get("action") === "remove") {
    // As the tenant's own removal: its domain is repeated, to be sure.
    if (form.get("confirm")?.trim() !== params.domain) {
      const confirm = "Cannot remove the tenant: this is not its domain";
      return await showTenant(page, { of: { confirm }, others: [] });
    }
    const answer = await ask(page, { method: "DELETE", path });
    return refusalOf(answer) ??
      { kind: "redirect", to: `${base}/tenants?done=removed` };
  }
  const answer = await ask(page, {
    method: "PUT",
    path,
    headers: { "if-match": textOf(form, "etag") ?? "*" },
    body: {
      status: form.get("status"),
      plan: form.get("plan"),
      timezone: textOf(form, "timezone"),
    },
  });
  const faults = formFaults(answer, FIELDS);
  const [here = ""] = page.path.split("?", 1);
  return faults === undefined
    ? { kind: "redirect", to: `${here}?done=saved` }
    : await showTenant(page, faults);
}

async function showTenant(
  page: PageCall,
  faults: FormFaults,
): Promise<PageAnswer> {
  const [answer, plans] = await Promise.all([
    ask(page, { path: `/${encodeURIComponent(page.params.domain ?? "")}` }),
    planChoices(page),
  ]);
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const tenant = answer.body as ShownTenant;
  return {
    kind: "page",
    title: `Tenant ${tenant.domain}`,
    heading: <span>{tenant.domain}</span>,
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <div class="grid">
        <section aria-labelledby="facts">
          <h2 id="facts">Facts</h2>
          <FactList
            facts={[
              ["Status", <TenantBadge status={tenant.status} />],
              ["URL", tenant.url],
              ["Id", <span class="mono">{tenant.id}</span>],
              ["Plan", tenant.plan],
              ["Time zone", tenant.timezone],
              ["Created", <Time at={tenant.created_at} />],
              ["Changed", <Time at={tenant.updated_at} />],
            ]}
          />
        </section>
        {tenant.status === "closing" ? null : (
          <TenantForms
            page={page}
            tenant={tenant}
            plans={plans}
            etag={answer.headers.etag?.toString() ?? ""}
            faults={faults}
          />
        )}
      </div>
    ),
  };
}

function TenantForms(
  { page, tenant, plans, etag, faults }: {
    readonly page: PageCall;
    readonly tenant: ShownTenant;
    readonly plans: readonly (readonly [string, string])[];
    readonly etag: string;
    readonly faults: FormFaults;
  },
): VNode {
  const { csrf, path } = page;
  const [here] = path.split("?", 1);
  const { status, plan, timezone } = tenant;
  const field = fieldsOf(
    new URLSearchParams({ status, plan, timezone }),
    faults.of,
  );
  const isKnown = plans.some(([id]) => id === plan);
  return (
    <section aria-labelledby="change">
      <h2 id="change">Change</h2>
      <form method="post" action={here}>
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <input type="hidden" name="etag" value={etag} />
        <ChoiceField
          {...field("status")}
          label="Status"
          choices={[
            ["active", "active"],
            ["suspended", "suspended: is answered nothing"],
          ]}
        />
        <ChoiceField
          {...field("plan")}
          label="Plan"
          choices={isKnown
            ? plans
            : [[plan, `${plan}, no longer there`], ...plans]}
        />
        <TextField {...field("timezone")} label="Time zone" />
        <button type="submit" class="primary">Save</button>
      </form>
      <details class="more" open={faults.of.confirm !== undefined}>
        <summary>Remove the tenant permanently</summary>
        <form method="post" action={here}>
          <CsrfField csrf={csrf} />
          <p class="dim">
            It ends with all it has: tasks, workers, secrets, users and keys.
          </p>
          <TextField
            name="confirm"
            label="Its domain, to be sure"
            fault={faults.of.confirm}
            isRequired
          />
          <button type="submit" name="action" value="remove" class="danger">
            Remove
          </button>
        </form>
      </details>
    </section>
  );
}
