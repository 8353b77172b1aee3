import { until } from '@modelgate/testing/test-support'
import { expect } from 'vitest'
import { type Case, overloadedAt, rejection, type Setting } from './context.ts'

/** Makes a case for each way to ask, streamed by the client's own helper or whole: the rest of a case is the same. */
export const casesIn =
  <Ask>(modes: Readonly<Record<string, Ask>>) =>
  (name: string, run: (setting: Setting, ask: Ask) => Promise<void>): readonly Case[] =>
    Object.entries(modes).map(([mode, ask]) => ({ name: `${name}, ${mode}`, run: (setting) => run(setting, ask) }))

/** A failure of the upstream, asked of it by these words, and what a client throws for it. */
export interface Failure {
  readonly name: string
  readonly text: string
  readonly type: new (...args: never[]) => Error
  readonly status: number
}
type Thrown = Awaited<ReturnType<typeof rejection>>

/** The header is there to wait by, where the upstream said how long. */
export const expectRetryAfter = (error: Thrown, { name }: Failure): void => {
  if (name === '429') expect((error.headers as Headers).get('retry-after')).toBe('7')
}

/** @param look what else there is to see of the error */
export const failureCases = <F extends Failure>(
  failures: readonly F[],
  ask: (setting: Setting, text: string, stream: boolean) => Promise<unknown>,
  look: (error: Thrown, failure: F) => void = expectRetryAfter,
): readonly Case[] =>
  [false, true].flatMap((stream) =>
    failures.map((failure) => ({
      name: `${failure.name} of the upstream as a typed error${stream ? ', to a stream' : ''}`,
      async run(setting) {
        const error = await rejection(ask(setting, overloadedAt(setting.upstream, failure.text), stream))
        expect(error).toBeInstanceOf(failure.type)
        expect(error.status).toBe(failure.status)
        look(error, failure)
      },
    })),
  )

/**
 * A client that leaves takes the upstream's call with it.
 *
 * @param leave asks for a stream, and leaves it at its first words
 * @param wait asks for an answer that does not come, until the signal says to leave
 * @param look what there is to see of the error of a client that left
 */
export const abortCases = (
  leave: (setting: Setting, text: string) => Promise<void>,
  wait: (setting: Setting, text: string, signal: AbortSignal) => Promise<unknown>,
  look: (error: Thrown) => void,
): readonly Case[] => [
  {
    name: 'abort in mid-stream reaches the upstream',
    async run(setting) {
      const { fake } = setting
      const before = fake.stats.aborted
      await leave(setting, '[[words:5000]] [[slow:5]]')
      await until(() => fake.stats.aborted === before + 1, 'the upstream to be aborted')
    },
  },
  {
    name: 'abort before the headers reaches the upstream',
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
