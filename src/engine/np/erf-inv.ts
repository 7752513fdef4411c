import { splat } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { abs, add, equal, exp, less, log1p, mul, neg, select, sqrt, sub } from "../ops/elementwise.ts";
import { withDerivative } from "../ops/with-derivative.ts";
import type { Value } from "../trace/value.ts";

/** Polynomials in w = -log(1 - x^2) by M. Giles, "Approximating the erfinv function"; highest power first. */
const single = {
  centre: [
    2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
  ],
  tail: [
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
  ],
} as const;

/** The same with more digits, in three ranges. */
const double = {
  centre: [
    -3.64441206401782e-21, -1.6850591381820166e-19, 1.28584807152564e-18, 1.1157877678025181e-17,
    -1.333171662854621e-16, 2.0972767875968562e-17, 6.637638134358324e-15, -4.054566272975207e-14,
    -8.151934197605472e-14, 2.6335093153082323e-12, -1.2975133253453532e-11, -5.415412054294628e-11,
    1.0512122733215323e-9, -4.112633980346984e-9, -2.9070369957882005e-8, 4.2347877827932404e-7,
    -1.3654692000834679e-6, -1.3882523362786469e-5, 0.00018673420803405714, -0.000740702534166267,
    -0.006033670871430149, 0.24015818242558962, 1.6536545626831027,
  ],
  tail: [
    2.2137376921775787e-9, 9.075656193888539e-8, -2.7517406297064545e-7, 1.8239629214389228e-8,
    1.5027403968909828e-6, -4.013867526981546e-6, 2.9234449089955446e-6, 1.2475304481671779e-5,
    -4.7318229009055734e-5, 6.828485145957318e-5, 2.4031110387097894e-5, -0.0003550375203628475,
    0.0009532893797373805, -0.0016882755560235047, 0.002491442096107851, -0.003751208507569241,
    0.005370914553590064, 1.0052589676941592, 3.0838856104922208,
  ],
  farTail: [
    -2.7109920616438573e-11, -2.555641816996525e-10, 1.5076572693500548e-9, -3.789465440126737e-9,
    7.61570120807834e-9, -1.496002662714924e-8, 2.914795345090108e-8, -6.771199775845234e-8,
    2.2900482228026655e-7, -9.9298272942317e-7, 4.526062597223154e-6, -1.968177810553167e-5,
    7.599527703001776e-5, -0.00021503011930044477, -0.00013871931833623122, 1.0103004648645344,
    4.849906401408584,
  ],
} as const;

const full = (like: Value, number: number): Value => splat(number, like.dtype, like.shape);

function polynomial(w: Value, coefficients: readonly number[]): Value {
  return coefficients
    .slice(1)
    .reduce((p, c) => add(full(w, c), mul(p, w)), full(w, coefficients[0] as number));
}

/** One polynomial whose coefficients and argument are chosen by the range: the steps XLA's own erf_inv takes. */
function inSingle(w: Value): Value {
  const near = less(w, full(w, 5));
  const at = select(near, sub(w, full(w, 2.5)), sub(sqrt(w), full(w, 3)));
  const coefficients = single.centre.map((c, i) =>
    select(near, full(w, c), full(w, single.tail[i] as number)),
  );
  return coefficients.reduce((p, c) => add(c, mul(p, at)));
}

function inDouble(w: Value): Value {
  const root = sqrt(w);
  const centre = polynomial(sub(w, full(w, 3.125)), double.centre);
  const tail = polynomial(sub(root, full(w, 3.25)), double.tail);
  const farTail = polynomial(sub(root, full(w, 5)), double.farTail);
  return select(less(w, full(w, 6.25)), centre, select(less(w, full(w, 16)), tail, farTail));
}

/** The derivative of the inverse: the reciprocal of erf's own derivative there. */
const derivative = (ct: Value, _xs: readonly Value[], y: Value): readonly Value[] => [
  mul(mul(ct, full(ct, Math.sqrt(Math.PI) / 2)), exp(mul(y, y))),
];

/**
 * The inverse of `erf`, for floating-point values: infinite at 1 and -1, NaN beyond.
 *
 * @example
 * ```ts
 * np.erfInv(np.erf(x)); // x
 * ```
 */
export function erfInv(x: Value): Value {
  if (x.dtype === "f16" || x.dtype === "bf16") return convert(erfInv(convert(x, "f32")), x.dtype);
  const w = neg(log1p(neg(mul(x, x))));
  const inside = mul(x.dtype === "f64" ? inDouble(w) : inSingle(w), x);
  const y = select(equal(abs(x), full(x, 1)), mul(x, full(x, Number.POSITIVE_INFINITY)), inside);
  return withDerivative([x], y, derivative);
}
