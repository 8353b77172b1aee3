/** A failed expectation, which fails the check. */
export class CheckFailed extends Error {
  override readonly name = 'Missed'
}

/** The server reports that it does not support a feature. The check does not count. */
export class NotServed extends Error {
  override readonly name = 'NotServed'
}

/** The check does not apply to this server or these options. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped'
}

/** Fails the check with this reason unless the condition holds. */
export function must(condition: boolean, why: string | (() => string)): asserts condition {
  if (!condition) throw new CheckFailed(typeof why === 'string' ? why : why())
}

/** Formats a value for a reason, truncated. */
export function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}
