import type { Api } from '../formats/format.ts'
import type { Run } from './run.ts'
import type { OperationId } from './tabs.ts'

// IndexedDB and not localStorage: images and audio are larger than its 5 MB, and are stored as they are.

const database = 'modelgate-playground'
const store = 'runs'

/** A run as it is stored, without its API. */
interface StoredRun extends Omit<Run, 'exchange'> {
  readonly operation: OperationId
  readonly api: string
  readonly exchange: Omit<Run['exchange'], 'format'>
}

let opening: Promise<IDBDatabase> | undefined

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('The browser could not access its storage.'))
  })

function open(): Promise<IDBDatabase> {
  if (opening !== undefined) return opening
  opening = new Promise((resolve, reject) => {
    // Throws in browsers that block storage.
    const request = indexedDB.open(database, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(store, { keyPath: 'id' })
    done(request).then(resolve, reject)
  })
  return opening
}

let last: Promise<unknown> = Promise.resolve()

/** Does work in the order of its calls, and returns `otherwise` if it fails: there is no room, or storage is blocked. */
function inOrder<T>(mode: IDBTransactionMode, work: (runs: IDBObjectStore) => Promise<T>, otherwise: T): Promise<T> {
  const next = last.then(async () => {
    try {
      const transaction = (await open()).transaction(store, mode)
      const completed = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve()
        transaction.onabort = () => reject(transaction.error)
      })
      const [result] = await Promise.all([work(transaction.objectStore(store)), completed])
      return result
    } catch {
      return otherwise
    }
  })
  last = next
  return next
}

/** Stores a run. Returns false if that is impossible. */
export function storeRun(operation: OperationId, { exchange, ...run }: Run): Promise<boolean> {
  const { format, ...rest } = exchange
  const stored: StoredRun = { ...run, operation, api: format.id, exchange: rest }
  return inOrder('readwrite', (runs) => done(runs.put(stored)).then(() => true), false)
}

const readAll = async (runs: IDBObjectStore, operation: OperationId): Promise<readonly StoredRun[]> =>
  (await done<StoredRun[]>(runs.getAll())).filter((run) => run.operation === operation)

/** Returns the stored runs of an operation, newest first. The page was left during a run that still runs. */
export async function readRuns(operation: OperationId, apiNamed: (id: string) => Api): Promise<readonly Run[]> {
  const all = await inOrder('readonly', (runs) => readAll(runs, operation), [])
  return all
    .map(({ operation: _, api, exchange: { outcome, ...exchange }, ...run }) => ({
      ...run,
      exchange: { ...exchange, format: apiNamed(api), outcome: outcome === 'running' ? ('stopped' as const) : outcome },
    }))
    .reverse()
}

export const deleteRuns = (ids: readonly string[]): Promise<unknown> =>
  inOrder('readwrite', (runs) => Promise.all(ids.map((id) => done(runs.delete(id)))), [])

export const clearRuns = (operation: OperationId): Promise<unknown> =>
  inOrder(
    'readwrite',
    async (runs) => {
      const stored = await readAll(runs, operation)
      return await Promise.all(stored.map(({ id }) => done(runs.delete(id))))
    },
    [],
  )
