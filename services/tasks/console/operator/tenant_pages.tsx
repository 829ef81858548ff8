/**
 * The operator's pages of tenants: the list with the form that makes one, and
 * the page of each.
 *
 * @module
 */

import type { VNode } from "preact";
import { PostForm, TextField } from "../../../shared/console/form.tsx";
import { FactList, Section, Time } from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import type { Tenant } from "../../domain/records.ts";
import type { ApiQuestion } from "../../http/ask_api.ts";
import {
  FaultForm,
  fieldsOf,
  type FormFaults,
  formFaults,
  NO_FAULTS,
  statusOf,
  textOf,
} from "../parts/form.tsx";
import {
  FilterForm,
  ListPager,
  listQuestion,
  StateBadge,
} from "../parts/list.tsx";
import {
  goTo,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  type Texts,
} from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";

const FIELDS = ["domain", "plan", "timezone", "status"];

type ShownTenant =
  & Pick<Tenant, "id" | "domain" | "status" | "plan" | "timezone">
  & Texts<"created_at" | "updated_at", "url">;

/** A question about the tenant that the page's path names, or another one. */
function questionOf(
  { params }: PageCall,
  { domain = params.domain ?? "", ...question }:
    & Omit<ApiQuestion, "host" | "path">
    & { readonly domain?: string },
): ApiQuestion {
  const path = `/${encodeURIComponent(domain)}`;
  return { ...question, path, host: "accounts_admin" };
}

/** Shows a page of the list. */
export async function tenantListPage(page: PageCall): Promise<PageAnswer> {
  const domain = page.query.get("domain")?.trim().toLowerCase() ?? "";
  return domain === ""
    ? await showList(page, NO_FAULTS)
    : goTo(`${page.here}/${encodeURIComponent(domain)}`);
}

/** Makes a tenant, and shows the key of its owner. */
export async function createTenant(page: PageCall): Promise<PageAnswer> {
  const { form, here } = page;
  const domain = textOf(form, "domain") ?? "";
  const answer = await page.ask(questionOf(page, {
    domain,
    method: "PUT",
    headers: { "if-none-match": "*" },
    body: { plan: textOf(form, "plan"), timezone: textOf(form, "timezone") },
  }));
  const faults = formFaults(answer, FIELDS);
  if (faults !== undefined) return await showList(page, faults);
  const { owner_key: key } = answer.body as Texts<"owner_key">;
  return shownOncePage({
    title: `Tenant ${domain}`,
    about: "The tenant is made. Its owner signs in with this key.",
    secrets: [["Key of the owner", key]],
    back: [`${here}/${encodeURIComponent(domain)}`, "To the tenant"],
  });
}

async function askPlans(page: PageCall): Promise<readonly string[]> {
  const answer = await page.ask({ host: "apex", path: "/plans" });
  const { data = [] } = answer.body as Partial<ShownList<Texts<"id">>>;
  return data.map(({ id }) => id);
}

async function showList(
  page: PageCall,
  faults: FormFaults,
): Promise<PageAnswer> {
  const [answer, plans] = await Promise.all([
    page.ask({ ...listQuestion(page, "/"), host: "accounts_admin" }),
    askPlans(page),
  ]);
  const list = answer.body as ShownList<ShownTenant>;
  return refusalOf(answer) ?? {
    kind: "page",
    title: "Tenants",
    status: statusOf(faults),
    content: (
      <>
        <FilterForm page={page}>
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
        </FilterForm>
        <section>
          {list.data.length === 0
            ? <p class="dim">There are no tenants.</p>
            : <Tenants page={page} tenants={list.data} />}
          <ListPager page={page} list={list} />
        </section>
        <NewTenant page={page} plans={plans} faults={faults} />
      </>
    ),
  };
}

function Tenants(
  { page: { here }, tenants }: {
    readonly page: PageCall;
    readonly tenants: readonly ShownTenant[];
  },
): VNode {
  return (
    <Table
      label="Tenants"
      rows={tenants}
      columns={[
        {
          name: "Domain",
          cell: ({ domain }) => (
            <a href={`${here}/${encodeURIComponent(domain)}`}>{domain}</a>
          ),
        },
        {
          name: "Status",
          cell: ({ status }) => <StateBadge status={status} />,
        },
        { name: "Plan", cell: ({ plan }) => plan },
        { name: "Time zone", cell: ({ timezone }) => timezone },
        { name: "Created", at: ({ created_at: at }) => at },
      ]}
    />
  );
}

function NewTenant(
  { page, plans, faults }: {
    readonly page: PageCall;
    readonly plans: readonly string[];
    readonly faults: FormFaults;
  },
): VNode {
  const { text, choice } = fieldsOf({ values: page.form, faults });
  return (
    <Section id="new" title="Make a tenant" kind="narrow">
      <FaultForm page={page} faults={faults} submit="Make">
        {text("domain", "Domain", {
          placeholder: "acme",
          hint: "The label of its host name.",
          isRequired: true,
        })}
        <div class="grid">
          {choice("plan", "Plan", { choices: plans })}
          {text("timezone", "Time zone", { placeholder: "UTC" })}
        </div>
      </FaultForm>
    </Section>
  );
}

/** Changes or removes a tenant. */
export async function changeTenant(page: PageCall): Promise<PageAnswer> {
  const { base, form, params, here } = page;
  if (form.get("action") === "remove") {
    // As the tenant's own removal: its domain is repeated, to be sure.
    if (form.get("confirm")?.trim() !== params.domain) {
      const confirm = "Cannot remove the tenant: this is not its domain";
      return await tenantPage(page, { of: { confirm }, others: [] });
    }
    const answer = await page.ask(questionOf(page, { method: "DELETE" }));
    return refusalOf(answer) ?? goTo(`${base}/tenants`, "removed");
  }
  const answer = await page.ask(questionOf(page, {
    method: "PUT",
    headers: { "if-match": textOf(form, "etag") ?? "*" },
    body: {
      status: form.get("status"),
      plan: form.get("plan"),
      timezone: textOf(form, "timezone"),
    },
  }));
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? goTo(here, "saved")
    : await tenantPage(page, faults);
}

/** Shows a tenant, and what is wrong with the form that was sent. */
export async function tenantPage(
  page: PageCall,
  faults: FormFaults = NO_FAULTS,
): Promise<PageAnswer> {
  const [answer, plans] = await Promise.all([
    page.ask(questionOf(page, {})),
    askPlans(page),
  ]);
  const tenant = answer.body as ShownTenant;
  return refusalOf(answer) ?? {
    kind: "page",
    title: `Tenant ${tenant.domain}`,
    heading: <span>{tenant.domain}</span>,
    status: statusOf(faults),
    content: (
      <div class="grid">
        <Section id="facts" title="Facts">
          <FactList
            facts={[
              ["Status", <StateBadge status={tenant.status} />],
              ["URL", tenant.url],
              ["Id", <span class="mono">{tenant.id}</span>],
              ["Plan", tenant.plan],
              ["Time zone", tenant.timezone],
              ["Created", <Time at={tenant.created_at} />],
              ["Changed", <Time at={tenant.updated_at} />],
            ]}
          />
        </Section>
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
  { page, tenant: { status, plan, timezone }, plans, etag, faults }: {
    readonly page: PageCall;
    readonly tenant: ShownTenant;
    readonly plans: readonly string[];
    readonly etag: string;
    readonly faults: FormFaults;
  },
): VNode {
  const values = new URLSearchParams({ status, plan, timezone });
  const { text, choice } = fieldsOf({ values, faults });
  const isKnown = plans.includes(plan);
  return (
    <Section id="change" title="Change">
      <FaultForm page={page} faults={faults} submit="Save">
        <input type="hidden" name="etag" value={etag} />
        {choice("status", "Status", {
          choices: ["active", ["suspended", "suspended: is answered nothing"]],
        })}
        {choice("plan", "Plan", {
          choices: isKnown
            ? plans
            : [[plan, `${plan}, no longer there`], ...plans],
        })}
        {text("timezone", "Time zone")}
      </FaultForm>
      <details class="more" open={faults.of.confirm !== undefined}>
        <summary>Remove the tenant permanently</summary>
        <PostForm
          page={page}
          buttons={[{ value: "remove", text: "Remove", kind: "danger" }]}
        >
          <p class="dim">
            It ends with all it has: tasks, workers, secrets, users and keys.
          </p>
          <TextField
            name="confirm"
            label="Its domain, to be sure"
            fault={faults.of.confirm}
            isRequired
          />
        </PostForm>
      </details>
    </Section>
  );
}
