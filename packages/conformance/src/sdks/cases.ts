import { until } from '@modelgate/testing/test-support'
import { expect } from 'vitest'
import { type Case, overloadedAt, rejection, type SdkFixture } from './context.ts'

/**
 * Creates a case for each mode, streamed by the client's own helper and unstreamed. The rest of the case is the same.
 */
export const casesIn =
  <Ask>(modes: Readonly<Record<string, Ask>>) =>
  (name: string, run: (setting: SdkFixture, ask: Ask) => Promise<void>): readonly Case[] =>
    Object.entries(modes).map(([mode, ask]) => ({ name: `${name}, ${mode}`, run: (setting) => run(setting, ask) }))

/** An upstream failure, requested by a directive, and the exception that the client throws. */
export interface Failure {
  readonly name: string
  readonly text: string
  readonly type: new (...args: never[]) => Error
  readonly status: number
}
type Thrown = Awaited<ReturnType<typeof rejection>>

/** Expects the Retry-After header if the upstream sent a delay. */
export const expectRetryAfter = (error: Thrown, { name }: Failure): void => {
  if (name === '429') expect((error.headers as Headers).get('retry-after')).toBe('7')
}

/** @param look further expectations of the error */
export const failureCases = <F extends Failure>(
  failures: readonly F[],
  ask: (setting: SdkFixture, text: string, stream: boolean) => Promise<unknown>,
  look: (error: Thrown, failure: F) => void = expectRetryAfter,
): readonly Case[] =>
  [false, true].flatMap((stream) =>
    failures.map((failure) => ({
      name: `throws an upstream failure (${failure.name}) as a typed error${stream ? ' of a stream' : ''}`,
      async run(setting) {
        const error = await rejection(ask(setting, overloadedAt(setting.upstream, failure.text), stream))
        expect(error).toBeInstanceOf(failure.type)
        expect(error.status).toBe(failure.status)
        look(error, failure)
      },
    })),
  )

/**
 * Cases in which a client abort must abort the upstream call.
 *
 * @param leave starts a stream and aborts it at the first text
 * @param wait waits for a response that never comes, until the signal aborts
 * @param look further expectations of the exception
 */
export const abortCases = (
  leave: (setting: SdkFixture, text: string) => Promise<void>,
  wait: (setting: SdkFixture, text: string, signal: AbortSignal) => Promise<unknown>,
  look: (error: Thrown) => void,
): readonly Case[] => [
  {
    name: 'aborts the upstream call by an abort in mid-stream',
    async run(setting) {
      const { fake } = setting
      const before = fake.stats.aborted
      await leave(setting, '[[words:5000]] [[slow:5]]')
      await until(() => fake.stats.aborted === before + 1, 'the upstream to be aborted')
    },
  },
  {
    name: 'aborts the upstream call by an abort before the headers',
    async run(setting) {
      const { fake } = setting
      const { aborted, started } = fake.stats
      const controller = new AbortController()
      const failed = rejection(wait(setting, '[[stall]]', controller.signal))
      await until(() => fake.stats.started === started + 1, 'the call to reach the upstream')
      controller.abort()
      look(await failed)
      await until(() => fake.stats.aborted === aborted + 1, 'the upstream to be aborted')
    },
  },
]
