/** A failed expectation: the check has failed for this reason. */
export class Missed extends Error {
  override readonly name = 'Missed'
}

/** The server says that it does not do this: nothing that counts against it. */
export class NotServed extends Error {
  override readonly name = 'NotServed'
}

/** The question makes no sense here. */
export class NotAsked extends Error {
  override readonly name = 'NotAsked'
}

/** Ends the check as failed unless the condition holds. `why` says what there was instead. */
export function must(condition: boolean, why: string | (() => string)): asserts condition {
  if (!condition) throw new Missed(typeof why === 'string' ? why : why())
}

/** A value as it is shown in a reason: short. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}
