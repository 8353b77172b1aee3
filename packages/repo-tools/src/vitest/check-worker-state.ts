// Runs before each test file of projects without isolation, whose files share a process and its modules. A file that leaves the
// process changed fails here instead of breaking a later file.
import { afterAll, expect, vi } from 'vitest'

const changeable: Readonly<Record<string, () => unknown>> = {
  'fake timers': () => vi.isFakeTimers(),
  fetch: () => globalThis.fetch,
  Date: () => globalThis.Date,
  setTimeout: () => globalThis.setTimeout,
  setInterval: () => globalThis.setInterval,
  setImmediate: () => globalThis.setImmediate,
  queueMicrotask: () => globalThis.queueMicrotask,
  'performance.now': () => performance.now,
  'crypto.getRandomValues': () => crypto.getRandomValues,
  'crypto.randomUUID': () => crypto.randomUUID,
  'Math.random': () => Math.random,
  'JSON.parse': () => JSON.parse,
  'console.log': () => console.log,
  'console.error': () => console.error,
  'console.warn': () => console.warn,
  'the working directory': () => process.cwd(),
  'the environment': () => JSON.stringify(process.env),
  'the process’s listeners': () =>
    process
      .eventNames()
      .map((name) => `${String(name)}: ${process.listenerCount(name)}`)
      .sort()
      .join(),
  'Object.prototype': () => Object.getOwnPropertyNames(Object.prototype).join(),
  'Array.prototype': () => Object.getOwnPropertyNames(Array.prototype).join(),
}

const read = () => Object.entries(changeable).map(([name, value]) => [name, value()] as const)
const before = new Map(read())

afterAll(() => {
  const changed = read().filter(([name, value]) => value !== before.get(name))
  expect(
    changed.map(([name]) => name),
    'left changed for the next test file of this process: restore it in afterEach or afterAll',
  ).toEqual([])
})
