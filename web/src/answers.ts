// The answers of the module, see the table of requests in crates/hypostyle-view/src/requests.rs.

export type Range = [start: number, end: number];

export interface Description {
  name: string;
  kind: string;
  format: string;
  bytes: number;
  is_text: boolean;
  archive?: {
    container: string;
    codec: string;
    chunk_lines: number | null;
    sha256: string | null;
    states_table: boolean;
  };
}

export interface Deviation {
  code: string;
  offset: number;
  message: string;
}

/** A node of the byte map. */
export interface MapNode {
  label: string;
  offset: number;
  stored: number;
  raw?: number | null;
  backend?: string;
  column?: number | null;
  name?: string | null;
  type?: string | null;
  children?: MapNode[];
}

export interface ByteMap {
  bytes: number;
  nodes: MapNode[];
  deviations: Deviation[];
}

export interface Column {
  name: string;
  type: string;
  numeric: boolean;
  nullable: boolean;
  nulls: number | null;
  min: string | null;
  max: string | null;
  exact: boolean;
}

export interface RowGroup {
  rows: number;
  ranges: Range[];
}

export interface TableInfo {
  rows: number;
  columns: Column[];
  row_groups: number;
  groups: RowGroup[];
  deviations: Deviation[];
  notes: string[];
}

export type Row = (string | null)[];

export interface Rows {
  from: number;
  rows: Row[];
}

export interface SearchPart {
  rows: Row[];
  pruned?: number[];
  stats: {
    row_groups: number;
    row_groups_read: number;
    row_groups_pruned: number;
    rows_read: number;
    rows_returned: number;
  };
}

export interface Profile {
  rows: number;
  of: number;
  nulls: number;
  distinct: number;
  has_more: boolean;
  min: string | null;
  max: string | null;
  bins: number[];
  top: { value: string; count: number }[];
}

export interface Member {
  name: string;
  mode: string | null;
  codec: string;
}

export interface Templates {
  templates: { template: string; lines: number }[];
  /** Lines of templates that are too many to list. */
  others: number;
}

export interface Verification {
  is_fine: boolean;
  rows: number;
  bytes: number | null;
  is_hashed: boolean;
  errors: string[];
  deviations: Deviation[];
}

/** What a step of a request returns. */
export type Step =
  | { missing: Range[] }
  | { part: unknown }
  | { done: unknown }
  | { error: { message: string; place: [start: number, length: number] | null } };

export type Request =
  | { op: "describe" | "map" | "table" | "members" | "templates" | "verify" }
  | { op: "rows"; from: number; count: number; whole?: boolean }
  | { op: "filter"; predicate: string }
  | { op: "profile"; column: number; rows: number }
  | { op: "export"; format: "csv" | "jsonl"; predicate?: string }
  | { op: "unpack"; member?: number };
