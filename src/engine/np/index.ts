export {
  absolute,
  absolute as abs,
  add,
  divide,
  floorDivide,
  fmod,
  maximum,
  minimum,
  multiply,
  negative,
  reciprocal,
  remainder,
  remainder as mod,
  sign,
  square,
  subtract,
} from "./arithmetic.ts";
export type { NestedValues } from "./array.ts";
export { array } from "./array.ts";
export type { Place } from "./at.ts";
export { at } from "./at.ts";
export type { Axis, AxisOptions, ReduceOptions } from "./axes.ts";
export type { CloseOptions } from "./comparison.ts";
export {
  allClose,
  equal,
  greater,
  greaterEqual,
  isClose,
  less,
  lessEqual,
  notEqual,
  where,
} from "./comparison.ts";
export { e, inf, nan, newaxis, pi } from "./constants.ts";
export { astype, bitcast } from "./conversion.ts";
export type { DTypeOptions, IotaOptions, LinspaceOptions, MeshgridOptions } from "./creation.ts";
export {
  arange,
  full,
  fullLike,
  iota,
  linspace,
  meshgrid,
  ones,
  onesLike,
  zeros,
  zerosLike,
} from "./creation.ts";
export type { CumulativeOptions } from "./cumulative.ts";
export { cumlogsumexp, cummax, cummin, cumprod, cumsum } from "./cumulative.ts";
export type { DiagonalOptions, MatrixOptions, PlaneOptions } from "./diagonals.ts";
export { diag, diagonal, eye, trace, tri, tril, triu } from "./diagonals.ts";
export type { DynamicIndexOptions } from "./dynamic.ts";
export { dynamicIndexInDim, dynamicSlice, dynamicUpdateSlice } from "./dynamic.ts";
export { einsum } from "./einsum.ts";
export {
  erf,
  erfInv,
  exp,
  exp2,
  expm1,
  log,
  log1p,
  log2,
  log10,
  logaddexp,
  rsqrt,
  sqrt,
} from "./exponential.ts";
export type { Index, Range } from "./index-parts.ts";
export type { OneHotOptions } from "./indexing.ts";
export { oneHot, slice, take, takeAlongAxis } from "./indexing.ts";
export type { AlongOptions } from "./joining.ts";
export { concatenate, hstack, split, stack, vstack } from "./joining.ts";
export {
  bitwiseAnd,
  bitwiseNot,
  bitwiseOr,
  bitwiseXor,
  leftShift,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  rightShift,
} from "./logic.ts";
export type { ValueMethods } from "./methods.ts";
export type { PadMode, PadOptions, PadWidth } from "./padding.ts";
export { pad } from "./padding.ts";
export { cbrt, hypot, power } from "./power.ts";
export type { ContractAxes } from "./product.ts";
export { dot, inner, kron, matmul, outer, tensordot, vdot } from "./product.ts";
export type { Rot90Options } from "./rearranging.ts";
export { flip, repeat, roll, rot90, tile } from "./rearranging.ts";
export type { ArgOptions, SumOptions } from "./reduction.ts";
export {
  all,
  any,
  argmax,
  argmin,
  countNonzero,
  max,
  max as amax,
  mean,
  min,
  min as amin,
  prod,
  sum,
} from "./reduction.ts";
export type { NanToNumOptions } from "./rounding.ts";
export { ceil, clip, floor, isFinite, isInf, isNan, nanToNum, round, trunc } from "./rounding.ts";
export type { ShapeLike } from "./shape.ts";
export {
  broadcastArrays,
  broadcastTo,
  expandDims,
  moveaxis,
  ravel,
  reshape,
  squeeze,
  swapaxes,
  transpose,
} from "./shape.ts";
export type { SearchOptions, SortOptions, TopKOptions } from "./sorting.ts";
export { argsort, median, searchsorted, sort, topK } from "./sorting.ts";
export type { AverageOptions, NormOptions, VarOptions } from "./statistics.ts";
export { average, logsumexp, norm, std, var } from "./statistics.ts";
export {
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  cos,
  cosh,
  sin,
  sinh,
  tan,
  tanh,
} from "./trigonometry.ts";
export type { ValueLike } from "./value.ts";
