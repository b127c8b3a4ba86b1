// A table of the report, whose order and filter are a part of the page's address.

import type { Page } from "../context";
import { useChoice } from "../hooks";
import { type Column, SortTable } from "./SortTable";

export type { Column } from "./SortTable";

export function DataTable<Row>({
  page,
  ...table
}: {
  page: Page;
  columns: Column<Row>[];
  rows: Row[];
  label: string;
  sortBy: number;
}) {
  const { sort, filter } = useChoice(page);
  return (
    <SortTable
      {...table}
      sort={sort}
      filter={filter}
      onSort={(to) => page.state.set({ sort: to })}
      onFilter={(to) => page.state.set({ filter: to })}
    />
  );
}
