import { createGateway, type FinishEvent, type Gateway } from '@modelgate/core'
import { forgetful, upstreamOf } from '../base/gateways.ts'
import { formats } from '../base/recorded-traffic.ts'
import { type Play, play } from './upstream.ts'

/** A gateway whose upstreams, one for each format, play what they are told to. */
export interface FuzzGateway {
  readonly gateway: Gateway
  /** The next call gets this play. */
  begin(play: Play): void
  /** The next call gets the answer of a real upstream. */
  answerWith(fetch: typeof globalThis.fetch): void
  /** What is wrong with what plugins were told of the call; undefined: nothing. @param called it went upstream for certain */
  wrongBooks(called: boolean): string | undefined
}

/** What `String` and templates say of an object whose `toString` is no function: a fault of ours, told as the upstream's. */
const isNoWord = (cause: unknown): boolean =>
  cause instanceof TypeError && cause.message.includes('Cannot convert object to primitive value')

/** Models are `chat-model`, `messages-model`, `gemini-model` and `responses-model`. */
export function fuzzGateway(): FuzzGateway {
  let answer: typeof fetch = () => Promise.reject(new Error('nothing is played'))
  let finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: Object.fromEntries(formats.map((format) => [format, upstreamOf(format)])),
    models: Object.fromEntries(formats.map((format) => [`${format}-model`, format])),
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    retry: false,
    breaker: false,
    health: forgetful,
    fetch: (input, init) => answer(input, init),
  })
  return {
    gateway,
    begin(next) {
      answer = (_, init) => play(next, init?.signal)
      finished = []
    },
    answerWith(fetch) {
      answer = fetch
      finished = []
    },
    wrongBooks(called) {
      if (finished.some(({ error }) => error instanceof Error && isNoWord(error.cause)))
        return 'a value could not be made a word of'
      return finished.length === 1 || (!called && finished.length === 0)
        ? undefined
        : `onFinish told ${finished.length} times`
    },
  }
}
