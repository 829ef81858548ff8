/**
 * The pages of users: the list with the form that adds one, and the page of
 * each.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  CheckField,
  ChoiceField,
  TextField,
} from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import {
  Badge,
  FactList,
  Live,
  Time,
  type Tone,
} from "../../../shared/console/parts.tsx";
import { Pager, Table } from "../../../shared/console/table.tsx";
import { ROLES } from "../../access/scope.ts";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  NO_FAULTS,
} from "../parts/form_faults.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import { fieldsOf } from "../tasks/task_form.tsx";

/** Users of a page. */
const LIMIT = 50;

const FIELDS = ["email", "name", "role", "status", "payloads"];

/** A user as the API shows it. */
interface ShownUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: typeof ROLES[number];
  readonly status: "invited" | "active" | "disabled";
  readonly payloads: boolean;
  readonly idp_subject: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_seen_at: string | null;
}

/** Shows a page of the list. */
export async function userListPage(page: PageCall): Promise<PageAnswer> {
  const values = new URLSearchParams({ role: "member" });
  return await showList(page, { values, faults: NO_FAULTS });
}

/** Adds a user. */
export async function addUser(page: PageCall): Promise<PageAnswer> {
  const { form, base } = page;
  const answer = await page.ask({
    method: "POST",
    path: "/v1/users",
    body: {
      email: form.get("email")?.trim() ?? "",
      name: form.get("name")?.trim() ?? "",
      role: form.get("role"),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? { kind: "redirect", to: `${base}/users?done=created` }
    : await showList(page, { values: form, faults });
}

async function showList(
  page: PageCall,
  { values, faults }: {
    readonly values: URLSearchParams;
    readonly faults: FormFaults;
  },
): Promise<PageAnswer> {
  const { base, query, nowMs } = page;
  const cursor = query.get("cursor") ?? "";
  const asked = Object.entries({ limit: String(LIMIT), cursor })
    .filter(([, value]) => value !== "");
  const answer = await page.ask({
    path: "/v1/users",
    query: new URLSearchParams(asked),
  });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data, next } = answer.body as ShownList<ShownUser>;
  const path = `${base}/users`;
  return {
    kind: "page",
    title: "Users",
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <>
        <section>
          {data.length === 0
            ? (
              <p class="dim">
                There are no users: the tenant is used with keys alone.
              </p>
            )
            : (
              <Live id="users">
                <Table
                  label="Users"
                  rows={data}
                  columns={[
                    {
                      name: "Email",
                      cell: ({ id, email }) => (
                        <a href={`${path}/${id}`}>{email}</a>
                      ),
                    },
                    { name: "Name", cell: ({ name }) => name },
                    { name: "Role", cell: ({ role }) => role },
                    {
                      name: "Status",
                      cell: ({ status }) => <UserBadge status={status} />,
                    },
                    {
                      name: "Last seen",
                      cell: ({ last_seen_at: at }) =>
                        at === null
                          ? <span class="dim">never</span>
                          : <Time at={at} nowMs={nowMs} />,
                    },
                  ]}
                />
                <Pager
                  first={cursor === "" ? undefined : path}
                  next={next === null
                    ? undefined
                    : withQuery(path, { cursor: next })}
                />
              </Live>
            )}
        </section>
        {may(page, "users:write")
          ? <NewUser page={page} values={values} faults={faults} />
          : null}
      </>
    ),
  };
}

const TONES: Readonly<Record<ShownUser["status"], Tone>> = {
  invited: "calm",
  active: "good",
  disabled: "dim",
};

function UserBadge({ status }: Pick<ShownUser, "status">): VNode {
  return (
    <Badge tone={TONES[status]} isHollow={status !== "active"}>{status}</Badge>
  );
}

const ROLE_CHOICES = ROLES.map((role) => [role, role] as const);

function NewUser(
  { page: { base, csrf }, values, faults }: {
    readonly page: PageCall;
    readonly values: URLSearchParams;
    readonly faults: FormFaults;
  },
): VNode {
  const field = fieldsOf(values, faults.of);
  return (
    <section aria-labelledby="new" class="narrow">
      <h2 id="new">Add a user</h2>
      <form method="post" action={`${base}/users`}>
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <TextField
          {...field("email")}
          label="Email"
          type="email"
          placeholder="ada@example.com"
          hint="Who signs in at the identity provider with this address becomes the user."
          isRequired
        />
        <div class="grid">
          <TextField {...field("name")} label="Name" />
          <ChoiceField {...field("role")} label="Role" choices={ROLE_CHOICES} />
        </div>
        <button type="submit" class="primary">Add</button>
      </form>
    </section>
  );
}

/** Shows a user. */
export async function userPage(page: PageCall): Promise<PageAnswer> {
  return await showUser(page, NO_FAULTS);
}

/** Changes or removes a user. */
export async function changeUser(page: PageCall): Promise<PageAnswer> {
  const { base, form } = page;
  const path = userPath(page);
  if (form.get("action") === "remove") {
    const answer = await page.ask({ method: "DELETE", path });
    return refusalOf(answer) ??
      { kind: "redirect", to: `${base}/users?done=removed` };
  }
  const answer = await page.ask({
    method: "PATCH",
    path,
    body: {
      name: form.get("name")?.trim() ?? "",
      role: form.get("role"),
      payloads: form.get("payloads") === "true",
      // A user who was added and has not signed in stays invited.
      ...(form.get("status") === "" ? {} : { status: form.get("status") }),
    },
  });
  const faults = formFaults(answer, FIELDS);
  const [here = ""] = page.path.split("?", 1);
  return faults === undefined
    ? { kind: "redirect", to: `${here}?done=saved` }
    : await showUser(page, faults);
}

function userPath({ params: { id = "" } }: PageCall): string {
  return `/v1/users/${encodeURIComponent(id)}`;
}

async function showUser(
  page: PageCall,
  faults: FormFaults,
): Promise<PageAnswer> {
  const answer = await page.ask({ path: userPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const user = answer.body as ShownUser;
  return {
    kind: "page",
    title: user.email,
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <div class="grid">
        <section aria-labelledby="facts">
          <h2 id="facts">Facts</h2>
          <FactList
            facts={[
              ["Status", <UserBadge status={user.status} />],
              ["Name", user.name],
              ["Role", user.role],
              ["Sees data", user.payloads ? "yes" : "no"],
              ["Id", <span class="mono">{user.id}</span>],
              ["At the provider", user.idp_subject],
              [
                "Last seen",
                user.last_seen_at && <Time at={user.last_seen_at} />,
              ],
              ["Added", <Time at={user.created_at} />],
              ["Changed", <Time at={user.updated_at} />],
            ]}
          />
        </section>
        {may(page, "users:write")
          ? <UserForm page={page} user={user} faults={faults} />
          : null}
      </div>
    ),
  };
}

function UserForm(
  { page, user, faults }: {
    readonly page: PageCall;
    readonly user: ShownUser;
    readonly faults: FormFaults;
  },
): VNode {
  const { csrf, form } = page;
  const values = form.size > 0 ? form : new URLSearchParams({
    name: user.name,
    role: user.role,
    status: user.status === "invited" ? "" : user.status,
  });
  const field = fieldsOf(values, faults.of);
  return (
    <section aria-labelledby="change">
      <h2 id="change">Change</h2>
      <form method="post" action={page.path.split("?", 1)[0]}>
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <TextField {...field("name")} label="Name" />
        <ChoiceField {...field("role")} label="Role" choices={ROLE_CHOICES} />
        <ChoiceField
          {...field("status")}
          label="Status"
          choices={[
            ...(user.status === "invited"
              ? [["", "invited: active at the next sign-in"] as const]
              : [["active", "active"] as const]),
            ["disabled", "disabled: is let in no more"],
          ]}
        />
        <CheckField
          name="payloads"
          label="Sees the data and results of tasks"
          isChecked={form.size > 0
            ? form.get("payloads") === "true"
            : user.payloads}
        />
        <div class="row">
          <button type="submit" class="primary">Save</button>
          <button
            type="submit"
            name="action"
            value="remove"
            class="danger"
            data-confirm={`Remove ${user.email} and the keys made by this user?`}
          >
            Remove
          </button>
        </div>
      </form>
    </section>
  );
}
