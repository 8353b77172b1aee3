import type { Plugin } from '@modelgate/core'
import { vi } from 'vitest'
import type { Attempt, FinishEvent, RequestEvent } from '../events.ts'

/** An attempt of a scene: its start and, unless it answers, its end and its error. */
export type SceneAttempt = Omit<Attempt, 'upstream' | 'model'> & Partial<Pick<Attempt, 'upstream' | 'model'>>

export interface Scene {
  readonly request?: Partial<Omit<RequestEvent, 'header'>>
  readonly headers?: { readonly [name: string]: string }
  readonly attempts?: readonly SceneAttempt[]
  readonly finish?: Partial<FinishEvent>
  /** Duration of the call in milliseconds. */
  readonly ms?: number
  /** If true, only the end of the call is reported to the plugin. */
  readonly unannounced?: boolean
}

export const arrival = Date.UTC(2026, 0, 1)
let calls = 0

/** Plays one call to a plugin as the gateway would, by a clock of its own. Returns the trace headers of its attempts. */
export function play(plugin: Plugin, scene: Scene = {}): (Readonly<Record<string, string>> | undefined)[] {
  const { request, headers = {}, finish, ms = 100, unannounced = false } = scene
  const attempts = (scene.attempts ?? [{ reason: 'first', startedMs: 2, status: 200, latencyMs: 40 }]).map(
    (attempt): Attempt => ({ upstream: 'openai', model: 'gpt-5', ...attempt }),
  )
  vi.useFakeTimers({ now: arrival })
  try {
    const shared = {
      requestId: `req_${++calls}`,
      identity: { id: 'someone' },
      operation: 'generate',
      format: 'chat',
      model: 'smart',
      stream: false,
      startedAt: arrival,
      ...request,
    } as const
    if (!unannounced) plugin.onRequest?.({ body: {}, ...shared, header: (name) => headers[name] })
    const given = attempts.map(({ upstream, model, reason, startedMs }, index) => {
      until(startedMs)
      return unannounced
        ? undefined
        : plugin.onUpstream?.({ requestId: shared.requestId, upstream, model, attempt: index + 1, reason })
    })
    until(ms)
    const { body: _body, ...info } = { body: undefined, ...shared }
    plugin.onFinish?.({
      ...info,
      status: 200,
      outcome: 'finished',
      losses: [],
      attempts,
      durationMs: ms,
      ...finish,
    })
    return given
  } finally {
    vi.useRealTimers()
  }
}

const until = (ms: number): void => {
  vi.advanceTimersByTime(Math.max(0, arrival + ms - Date.now()))
}
