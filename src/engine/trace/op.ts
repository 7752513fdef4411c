import type * as jax from "@jax-js/jax";
import type { HloWriter } from "../xla/writer.ts";
import type { Region } from "./region.ts";
import type { TensorType } from "./type.ts";
import type { Node, Value } from "./value.ts";

export type Jax = typeof jax;
export type JaxArray = jax.Array;

/** A list whose length the row knows: its first elements are there without asking. */
export type Several<T> = readonly [T, T, T, T, T, T, ...T[]];

export const several = <T>(list: readonly T[]): Several<T> => list as unknown as Several<T>;

/** Stands in a column of the op table that does not apply, with the reason. */
export interface Lacking {
  readonly lacking: string;
}
export const lacking = (reason: string): Lacking => ({ lacking: reason });
export const isLacking = (column: unknown): column is Lacking =>
  typeof column === "object" && column !== null && "lacking" in column;

/** Stands for the derivative of what gives whole numbers or truth values. */
export const notDifferentiable: Lacking = lacking("its result is not a floating-point number");

/** Cotangents of the inputs, in order; `undefined` stands for zero. */
export type Cotangents = readonly (Value | undefined)[];

/** An input of a batching rule: `batched` values carry the mapped axis in front. */
export interface Batched {
  readonly value: Value;
  readonly batched: boolean;
}

/** Runs regions for ops that are loops and branches on the host: gives a region as a function that owns its inputs. */
export type WasmRegions = (region: Region) => (inputs: readonly JaxArray[]) => readonly JaxArray[];

/** A wasm column of an op that cannot be traced into a kernel, because what it does depends on values. */
export interface OnHost<P> {
  readonly onHost: (
    j: Jax,
    inputs: Several<JaxArray>,
    node: Node<P>,
    regions: WasmRegions,
  ) => readonly JaxArray[];
}
export const isOnHost = <P>(column: unknown): column is OnHost<P> =>
  typeof column === "object" && column !== null && "onHost" in column;

/** One row of the op table: all there is to know about an operation. */
export interface Op<P = unknown> {
  readonly name: string;
  /** Checks the inputs and gives the types of the outputs. */
  type(inputs: Several<TensorType>, params: P): readonly TensorType[];
  /**
   * Cotangents of the inputs from those of the outputs, as more graph. `needed` says for which inputs anybody asks;
   * others may be left out.
   */
  readonly derivative:
    | Lacking
    | ((node: Node<P>, cotangents: Several<Value | undefined>, needed: readonly boolean[]) => Cotangents);
  /** The same operation over a leading mapped axis of length `size`; every output carries it. */
  readonly batch: Lacking | ((inputs: Several<Batched>, params: P, size: number) => readonly Value[]);
  /** Writes StableHLO; gets the names of the inputs, gives those of the outputs. */
  readonly stablehlo:
    | Lacking
    | ((writer: HloWriter, inputs: Several<string>, node: Node<P>) => readonly string[]);
  /** Runs on jax-js: owns the inputs it is given (each must be used up exactly once), gives owned outputs. */
  readonly wasm:
    | Lacking
    | OnHost<P>
    | ((j: Jax, inputs: Several<JaxArray>, node: Node<P>) => readonly JaxArray[]);
  /** Never merged with an equal node. */
  readonly unique?: boolean;
  /** Costs nearly nothing to compute again, so that loops recompute it instead of keeping it. */
  readonly cheap?: boolean;
}

const rows = new Map<string, Op>();

/** Enters a row into the table. */
export function defineOp<P>(row: Op<P>): Op<P> {
  if (rows.has(row.name)) throw new Error(`op "${row.name}" is defined twice`);
  rows.set(row.name, row as Op);
  return row;
}

/** The op table: every operation both engines are built from. */
export const opTable: ReadonlyMap<string, Op> = rows;
