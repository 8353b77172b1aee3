import { bedrock, createGateway, type FinishEvent, type Gateway, type Upstream } from '@modelgate/core'
import { noSharedHealth, upstreamKey, upstreamOf } from '../base/gateways.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import { type Play, play } from './upstream.ts'

/** A gateway with a scripted upstream for each format. */
export interface FuzzGateway {
  readonly gateway: Gateway
  /** Scripts the next upstream call. */
  begin(play: Play): void
  /** Forwards the next upstream call to a real fake provider. */
  forwardTo(fetch: typeof globalThis.fetch): void
  /**
   * Returns the error in the events of plugins, or undefined. @param called true if the upstream was certainly called
   */
  accountingDefect(called: boolean): string | undefined
}

/** Recognises the exception for an object whose `toString` is not a function. */
const isNoWord = (cause: unknown): boolean =>
  cause instanceof TypeError && cause.message.includes('Cannot convert object to primitive value')

/** The formats of the upstreams. */
export type FuzzedFormat = Format | 'converse'

const upstreams: Readonly<Record<FuzzedFormat, Upstream>> = {
  ...(Object.fromEntries(formats.map((format) => [format, upstreamOf(format)])) as Record<Format, Upstream>),
  converse: bedrock({ region: 'us-east-1', apiKey: upstreamKey, formats: ['converse'] }),
}

/** Models are `chat-model`, `messages-model`, `gemini-model`, `responses-model` and `converse-model`. */
export function fuzzGateway(): FuzzGateway {
  let answer: typeof fetch = () => Promise.reject(new Error('no script is set'))
  let finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams,
    models: Object.fromEntries(Object.keys(upstreams).map((format) => [`${format}-model`, format as FuzzedFormat])),
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    retry: false,
    breaker: false,
    health: noSharedHealth,
    fetch: (input, init) => answer(input, init),
  })
  return {
    gateway,
    begin(next) {
      answer = (_, init) => play(next, init?.signal)
      finished = []
    },
    forwardTo(fetch) {
      answer = fetch
      finished = []
    },
    accountingDefect(called) {
      if (finished.some(({ error }) => error instanceof Error && isNoWord(error.cause)))
        return 'a value without a primitive form caused an exception'
      return finished.length === 1 || (!called && finished.length === 0)
        ? undefined
        : `onFinish was called ${finished.length} times`
    },
  }
}
