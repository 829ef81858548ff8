import { serviceTest } from "../../../../tests/support/services.ts";
import { storeConformance } from "../testing/store_conformance.ts";
import { openSubject } from "./testing/postgres_subject.ts";

storeConformance(
  "PostgreSQL",
  () => openSubject(),
  (test) => serviceTest(["postgres"], test),
);
