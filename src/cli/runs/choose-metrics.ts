import { checkMetricPattern, didYouMean, EspalierError } from "../../core/index.ts";

/** As much of a metric as choosing takes. */
interface Named {
  readonly key: string;
}

const CHECKS = /^(val|valid|validation|eval|evaluation|test)$/i;
/** Categories about the run and the machine, not about learning. */
const ASIDE = ["time", "system", "health"];
/** Ranks from here on are of those, the first of a throughput. */
const FIRST_ASIDE = 5;

/** Smaller is shown earlier: losses, then scores of validation and evaluation, then the rest, the machine last. */
function rank(key: string): number {
  const [category = "", ...rest] = key.split("/");
  const name = rest.join("/");
  const aside = ASIDE.indexOf(category);
  if (aside >= 0) return FIRST_ASIDE + (/PerSecond$/.test(name) ? 0 : 1 + aside);
  const isCheck = CHECKS.test(category);
  if (/^loss$/i.test(name)) return isCheck ? 1 : 0;
  if (isCheck) return /loss/i.test(name) ? 1 : 2;
  return /loss/i.test(name) ? 3 : 4;
}

/** Metrics in the order in which people look at them. */
export const byInterest = <M extends Named>(metrics: readonly M[]): readonly M[] =>
  metrics.toSorted((a, b) => rank(a.key) - rank(b.key) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));

/** The metrics that are shown by default: what is learnt and how fast. */
export const telling = <M extends Named>(metrics: readonly M[]): readonly M[] =>
  byInterest(metrics).filter(({ key }) => rank(key) <= FIRST_ASIDE);

/** The metric that tells a run's state in one number: its loss, if it has one. */
export const mainLoss = <M extends Named>(metrics: readonly M[]): M | undefined =>
  byInterest(metrics).find(({ key }) => /loss/i.test(key) && rank(key) < FIRST_ASIDE);

/**
 * The metrics that are asked for in full, `*` standing for any letters. In the order asked
 * for, each once. What fits none is an error.
 */
export function matching<M extends Named>(metrics: readonly M[], asked: readonly string[]): readonly M[] {
  const found = asked.flatMap((wanted) => {
    const fits = metrics.filter(fitsPattern(wanted));
    if (fits.length > 0) return byInterest(fits);
    const known = metrics.map(({ key }) => key);
    throw new EspalierError(
      "METRIC_UNKNOWN",
      `the run has no metric "${wanted}"${didYouMean(wanted, known)}`,
      { fix: metrics.length === 0 ? "it has no metrics yet" : `it has ${someKeys(metrics)}` },
    );
  });
  return [...new Set(found)];
}

/** True for metrics that match a full name or a pattern of it. */
export function fitsPattern(wanted: string): (metric: Named) => boolean {
  checkMetricPattern("--metric", wanted);
  const parts = wanted.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const pattern = new RegExp(`^(?:${parts.join(".*")})$`, "s");
  return ({ key }) => pattern.test(key);
}

function someKeys(metrics: readonly Named[], most = 10): string {
  const keys = byInterest(metrics).map(({ key }) => key);
  const more = keys.length - most;
  return `${keys.slice(0, most).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
