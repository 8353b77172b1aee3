/** Step limit of a run, because exponential code would never end. */
const mostSteps = 20_000_000

type Method = (this: unknown, ...args: unknown[]) => unknown

/**
 * Counts the steps of a synchronous run: items that list methods visit, look-ups in sets, characters that are parsed, written, joined
 * or measured, and reads of every object that `JSON.parse` made. Unlike time, steps grow the same way on a busy machine.
 */
export function countSteps(run: () => void): number {
  let steps = 0
  const add = (more: number): void => {
    steps += more
    if (steps > mostSteps) throw new Error(`more than ${mostSteps} steps`)
  }
  const restore: (() => void)[] = []
  const patch = (target: object, name: string, wrap: (original: Method) => Method): void => {
    const descriptor = Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor
    Object.defineProperty(target, name, { ...descriptor, value: wrap(descriptor.value as Method) })
    restore.push(() => Object.defineProperty(target, name, descriptor))
  }
  for (const name of ['find', 'findIndex', 'findLast', 'findLastIndex', 'some', 'every', 'filter'])
    patch(
      Array.prototype,
      name,
      (original) =>
        function (fits, ...rest) {
          const counted = (...args: unknown[]): unknown => {
            add(1)
            return (fits as Method).apply(rest[0], args)
          }
          return original.call(this, counted, ...rest)
        },
    )
  for (const name of ['includes', 'indexOf', 'shift', 'splice', 'unshift'])
    patch(
      Array.prototype,
      name,
      (original) =>
        function (...args) {
          add((this as unknown[]).length)
          return original.apply(this, args)
        },
    )
  patch(
    Array.prototype,
    'join',
    (original) =>
      function (...args) {
        const text = original.apply(this, args) as string
        add(text.length)
        return text
      },
  )
  patch(
    String.prototype,
    'includes',
    (original) =>
      function (...args) {
        // Searches in short strings are not counted.
        if (String(this).length > 100) add(String(this).length)
        return original.apply(this, args)
      },
  )
  patch(
    String.prototype,
    'indexOf',
    (original) =>
      function (...args) {
        const found = original.apply(this, args) as number
        // A search reads the characters from its start position to the match.
        const [, from = 0] = args as [string, number?]
        if (String(this).length > 100)
          add(from > 0 ? Math.max(1, (found < 0 ? String(this).length : found) - from) : String(this).length)
        return found
      },
  )
  patch(
    String.prototype,
    'codePointAt',
    (original) =>
      function (...args) {
        add(1)
        return original.apply(this, args)
      },
  )
  patch(
    Set.prototype,
    'has',
    (original) =>
      function (...args) {
        add(1)
        return original.apply(this, args)
      },
  )
  patch(
    TextEncoder.prototype,
    'encode',
    (original) =>
      function (...args) {
        add(String(args[0] ?? '').length)
        return original.apply(this, args)
      },
  )
  patch(
    JSON,
    'stringify',
    (original) =>
      function (...args) {
        const text = original.apply(this, args) as string | undefined
        add(text?.length ?? 0)
        return text
      },
  )
  patch(
    JSON,
    'parse',
    (original) =>
      function (...args) {
        add(String(args[0]).length)
        return counted(original.apply(this, args), () => add(1))
      },
  )
  try {
    run()
  } finally {
    for (const undo of restore.reverse()) undo()
  }
  return steps
}

/** Wraps the value in a proxy that counts all reads. Each object has one proxy. */
function counted(value: unknown, read: () => void, known = new WeakMap<object, object>()): unknown {
  if (typeof value !== 'object' || value === null) return value
  const made = known.get(value)
  if (made !== undefined) return made
  const proxy = new Proxy(value, {
    get(target, key, receiver) {
      read()
      return counted(Reflect.get(target, key, receiver), read, known)
    },
    has(target, key) {
      read()
      return Reflect.has(target, key)
    },
  })
  known.set(value, proxy)
  return proxy
}
