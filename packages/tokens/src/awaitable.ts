/** Whether an answer is still to come: by its shape, because clients of stores bring promises of their own making. */
export const isThenable = <T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> =>
  typeof answer === 'object' && answer !== null && 'then' in answer && typeof answer.then === 'function'
