import { fetchCallFacts } from '../call/call-facts.ts'
import { send } from '../call/send.ts'
import type { Api, ApiRequest, Exchange } from '../formats/format.ts'
import type { Run } from './run.ts'
import { clearRuns, deleteRuns, readRuns, storeRun } from './stored-runs.ts'
import type { OperationId } from './tabs.ts'
import { createValue, type Value } from './value.ts'

export interface RunsState {
  /** Newest first. */
  readonly runs: readonly Run[]
  /** True: the browser has no room for them, and a reload removes them. */
  readonly isLost: boolean
}

export interface StartedRun {
  readonly api: Api
  readonly request: ApiRequest
  readonly model: string
  readonly gateway: string
  readonly token: string
}

/** The calls of a tab. They continue while another tab is shown, and survive a reload. */
export interface Runs extends Value<RunsState> {
  /** Makes a call, one at a time. */
  start(run: StartedRun): Promise<void>
  stop(): void
  clear(): Promise<void>
}

/** Results may be large: older ones are deleted. */
const most = 20

export function createRuns(operation: OperationId, apis: readonly [Api, ...Api[]]): Runs {
  const state = createValue<RunsState>({ runs: [], isLost: false })
  /** Runs that are being deleted: a call that is stopped by that must not store its run again. */
  const cleared = new Set<string>()
  let controller: AbortController | undefined
  const change = (more: Partial<RunsState>): void => state.set({ ...state.get(), ...more })
  const alter = (id: string, more: Partial<Run>): void =>
    change({ runs: state.get().runs.map((run) => (run.id === id ? { ...run, ...more } : run)) })
  const keep = async (id: string): Promise<void> => {
    const run = state.get().runs.find((one) => one.id === id)
    if (run !== undefined && !cleared.has(id) && !(await storeRun(operation, run))) change({ isLost: true })
  }
  const load = async (): Promise<void> => {
    const stored = await readRuns(operation, (id) => apis.find((api) => api.id === id) ?? apis[0])
    const known = new Set(state.get().runs.map(({ id }) => id))
    change({ runs: [...state.get().runs, ...stored.filter(({ id }) => !known.has(id))].slice(0, most) })
  }
  void load()
  const stop = (): void => controller?.abort()

  return {
    ...state,
    async start({ api, request, model, gateway, token }) {
      stop()
      controller = new AbortController()
      const { signal } = controller
      const startedAt = Date.now()
      const id = `${startedAt}-${Math.random().toString(36).slice(2)}`
      const begun: Exchange = { format: api, request, events: [], pieces: [], outcome: 'running' }
      const runs = [{ id, startedAt, model, exchange: begun }, ...state.get().runs]
      change({ runs: runs.slice(0, most) })
      if (runs.length > most) void deleteRuns(runs.slice(most).map((run) => run.id))
      void keep(id)
      const onProgress = (exchange: Exchange): void => alter(id, { exchange })
      const exchange = await send({ format: api, request, gateway, token, signal, onProgress })
      alter(id, { exchange })
      await keep(id)
      const requestId = exchange.responseHeaders?.['modelgate-request-id']
      // Without an attempt there are no facts.
      if (requestId === undefined || exchange.responseHeaders?.['modelgate-attempts'] === undefined) return
      const facts = await fetchCallFacts(gateway, requestId, { stopped: exchange.outcome === 'stopped' })
      if (facts === undefined) return
      alter(id, { facts })
      await keep(id)
    },
    stop,
    async clear() {
      for (const { id } of state.get().runs) cleared.add(id)
      stop()
      // The results disappear when they are deleted: a reload at once would show them again otherwise.
      await clearRuns(operation)
      change({ runs: state.get().runs.filter(({ id }) => !cleared.has(id)), isLost: false })
      cleared.clear()
    },
  }
}
