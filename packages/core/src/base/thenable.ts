/** Not only promises of this realm: query builders and other libraries return thenables of their own, functions among them. */
export const isThenable = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  'then' in value &&
  typeof value.then === 'function'
