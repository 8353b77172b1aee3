import type { Upstream } from '@modelgate/core'

/** Whether an upstream was given a key that is empty, as a variable is that nobody set. */
export const isKeyless = ({ headers = {} }: Partial<Upstream>): boolean =>
  ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'].some((name) => {
    const value = headers[name]
    return value !== undefined && /^(Bearer)?\s*$/.test(value)
  })
