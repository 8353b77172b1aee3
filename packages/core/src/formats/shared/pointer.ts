/** One step of a JSON Pointer (RFC 6901). */
export const escapeStep = (step: string): string =>
  step.includes('~') || step.includes('/') ? step.replaceAll('~', '~0').replaceAll('/', '~1') : step

/** The pointer to `key` below `base`. */
export const pointer = (base: string, key: string | number): string =>
  `${base}/${typeof key === 'number' ? key : escapeStep(key)}`
