import {
  createGateway,
  type FinishEvent,
  type Gateway,
  type GatewayConfig,
  memoryResponseStore,
  type OpenAIOptions,
  openai,
  type Upstream,
} from '@modelgate/core'
import { loadLazyModules } from '@modelgate/core/test-support'
import { vi } from 'vitest'
import { type JsonObject, objectOf, parseJson } from '../base/json.ts'

await loadLazyModules()

/** One call as an upstream received it. */
export interface UpstreamCall {
  readonly upstream: string
  /** 1 for the first call to this upstream. */
  readonly nth: number
  /** Milliseconds since 1970, by the test's clock. */
  readonly at: number
  readonly url: string
  readonly headers: Headers
  readonly text: string
  readonly body: JsonObject
  readonly signal: AbortSignal
}

export type Behaviour = (call: UpstreamCall) => Response | Promise<Response>

/** Response that the client received. */
export interface ClientResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: JsonObject
}

export interface RouterWorld<U extends string> {
  readonly gateway: Gateway
  /** Upstream calls in order of arrival. */
  readonly calls: readonly UpstreamCall[]
  to(upstream: U): readonly UpstreamCall[]
  readonly finished: readonly FinishEvent[]
  readonly logged: readonly unknown[]
  /** Changes the behaviour of an upstream for later calls. */
  behave(upstream: U, behaviour: Behaviour): void
  /** Sends a chat call of model `m` and reads the whole response. */
  chat(extra?: object, headers?: Record<string, string>, signal?: AbortSignal): Promise<ClientResponse>
  request(extra?: object, headers?: Record<string, string>, signal?: AbortSignal): Request
}

/**
 * Creates a gateway whose upstreams are functions in this process. By default, model `m` has all of them as targets, in
 * order.
 */
export function createWorld<U extends string>(
  behaviours: Readonly<Record<U, Behaviour>>,
  config: Partial<GatewayConfig<U>> = {},
): RouterWorld<U> {
  const names = Object.keys(behaviours) as U[]
  const current = new Map<string, Behaviour>(Object.entries(behaviours) as [string, Behaviour][])
  const counts = new Map<string, number>()
  const calls: UpstreamCall[] = []
  const finished: FinishEvent[] = []
  const logged: unknown[] = []
  const upstreams = Object.fromEntries(names.map((name) => [name, upstreamNamed(name)])) as Record<U, Upstream>
  const gateway = createGateway<U>({
    auth: 'none',
    upstreams,
    models: { m: names } as unknown as GatewayConfig<U>['models'],
    // The default store would log that it lasts only as long as the process.
    responses: { store: memoryResponseStore() },
    logger: { warn: (...all) => logged.push(all), error: (...all) => logged.push(all) },
    plugins: [{ name: 'books', onFinish: (event) => void finished.push(event) }],
    fetch: (async (input: string, init: RequestInit) => {
      const upstream = new URL(input).hostname.split('.')[0] ?? ''
      const nth = (counts.get(upstream) ?? 0) + 1
      counts.set(upstream, nth)
      const text = typeof init.body === 'string' ? init.body : await new Response(init.body ?? null).text()
      const call: UpstreamCall = {
        upstream,
        nth,
        at: Date.now(),
        url: input,
        headers: new Headers(init.headers),
        text,
        body: objectOf(parseJson(text)),
        signal: init.signal ?? new AbortController().signal,
      }
      calls.push(call)
      const behaviour = current.get(upstream)
      if (behaviour === undefined) throw new TypeError(`Unknown upstream '${upstream}' of the test world`)
      return behaviour(call)
    }) as typeof fetch,
    ...config,
  })
  const request: RouterWorld<U>['request'] = (extra = {}, headers = {}, signal) =>
    new Request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...extra }),
      ...(signal === undefined ? {} : { signal }),
    })
  return {
    gateway,
    calls,
    to: (upstream) => calls.filter((call) => call.upstream === upstream),
    finished,
    logged,
    behave: (upstream, behaviour) => void current.set(upstream, behaviour),
    request,
    chat: async (extra, headers, signal) => readResponse(await gateway.fetch(request(extra, headers, signal))),
  }
}

type ApiKey = NonNullable<OpenAIOptions['apiKey']>

export const upstreamNamed = (name: string, apiKey: ApiKey = `key-of-${name}`) =>
  openai({ apiKey, baseURL: `http://${name}.test/v1` })

export async function readResponse(response: Response): Promise<ClientResponse> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: objectOf(parseJson(text)) }
}

/** Stops the clock, timers and `performance` until the test advances them. */
export const stopClock = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now: 1_800_000_000_000 })
}

/** Runs everything that needs no time. Lazily loaded modules are imported above, because loading takes time. */
export async function runPendingWork(turns = 8): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Advances the clock from timer to timer until the work is done: no time passes that nothing waits for. */
export async function runClockUntil<T>(work: Promise<T>): Promise<T> {
  let done = false
  const over = (): void => {
    done = true
  }
  work.then(over, over)
  await runPendingWork()
  for (let idle = 0; !done; ) {
    if (vi.getTimerCount() === 0 && ++idle > 50) throw new Error('The work is not done, but no timer is pending')
    await vi.advanceTimersToNextTimerAsync()
    await runPendingWork()
  }
  return work
}

/** Advances the clock in steps, so that the effects of a timer happen at their own time. */
export async function advanceClock(ms: number, step = 10): Promise<void> {
  for (let left = ms; left > 0; left -= step) {
    await vi.advanceTimersByTimeAsync(Math.min(step, left))
    await runPendingWork(2)
  }
}

/** Prints a measured figure for a line of the promises. */
export const printFigure = (line: number, text: string): void => console.info(`reliability ${line}: ${text}`)

/** Creates the same random numbers in every run. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** Makes the first calls, which load their code: a stopped clock does not wait for an import. */
async function makeFirstCalls(): Promise<void> {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const whole = { id: 'c', object: 'chat.completion', created: 1, model: 'm', usage }
  const choice = { index: 0, finish_reason: 'stop' }
  const message = { role: 'assistant', content: 'ok' }
  const chunk = JSON.stringify({ ...whole, object: 'chat.completion.chunk', choices: [{ ...choice, delta: message }] })
  const respond: Behaviour = ({ body }) =>
    body.stream === true
      ? new Response(`data: ${chunk}\n\ndata: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } })
      : Response.json({ ...whole, choices: [{ ...choice, message }] })
  const targets = [
    { upstream: 'a', when: 'images', defaults: { seed: 1 } },
    { upstream: 'b', overrides: { seed: 1 } },
  ] as const
  const models = { m: { targets: [...targets], strategy: 'fastest', hedgeMs: 1 } } as const
  const warm = createWorld<'a' | 'b'>({ a: respond, b: respond }, { models })
  for (const stream of [false, true]) await warm.chat({ stream })
}
await makeFirstCalls()
